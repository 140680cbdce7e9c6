import { type AnsweredRow, emptyRow, foundGroupsJson, groupsJson, wantedRows } from './group-rows.ts';
import { type AggregatePlan, aggregateLimits } from './input/aggregate/aggregate-plan.ts';
import { allRecords, type Conditions, equals } from './input/parse-conditions.ts';
import type { ReadPlan } from './input/read-plan.ts';
import { firstOf } from './plan-sql.ts';
import { costFor, readError } from './read-cost.ts';
import { ListFind, noteSource, type ReadParts, RowsFind, shownBy } from './record-find.ts';
import { ruled, ruledPlan } from './ruled.ts';
import { aggregateSql, costSql } from './sql/aggregate-sql.ts';
import { idsSql } from './sql/conditions-sql.ts';
import { rowColumns, shownJson, valueBytes } from './sql/record-row.ts';
import type { Selection } from './sql/records-table.ts';
import type { StoredRow } from './sql/stored-row.ts';
import { recordExpression } from './sql/value-sql.ts';
import type { FoundNow } from './store/record-store.ts';
import { rowTest } from './store/row-test.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** A record's id, and the bytes of its values as text. */
interface SizedRow {
  readonly _id: string;
  readonly _bytes: number;
}

const sizedColumns = `_id, toFloat64(${valueBytes}) AS _bytes`;

class SizedRowsFind extends RowsFind<SizedRow> {
  override fromRows(rows: readonly StoredRow[]): readonly SizedRow[] {
    return rows.map(({ _id, _doc }) => ({ _id, _bytes: Buffer.byteLength(Object.values(_doc).join('')) }));
  }
}

export const oldest: ReadPlan = { conditions: allRecords, sort: null, page: null };

/**
 * Reads records in the cheapest way. It tries, in order, rows in memory (memory/plan-search.ts), a look-up by an id or a
 * unique value, and a statement (record-find.ts; store/shared-reads.ts). The statement uses the index of values if few
 * records have one of them (store/common-terms.ts, store/value-finds.ts), and scans the space otherwise. Cached answers come
 * before all of this (query/operations/cached-read.ts).
 */
export class RecordReader {
  readonly #parts: ReadParts;

  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** The answer of `list`, if rows in memory can give it at once; null: they can't. */
  listNow(space: RecordSpace, plan: ReadPlan): Uint8Array | null {
    const found = this.#inMemory(space, ruledPlan(space, plan));
    return found === null ? null : found.table.list(shownBy(space, plan), found.numbers);
  }

  /** The answer of `first`, likewise: JSON text, `null` included. */
  firstNow(space: RecordSpace, plan: ReadPlan): Uint8Array | null {
    const found = this.#inMemory(space, ruledPlan(space, { ...plan, page: firstOf(plan) }));
    if (found === null) return null;
    const [number] = found.numbers;
    return number === undefined ? noRecord : found.table.record(shownBy(space, plan), number);
  }

  /** @param plan with the conditions of rules */
  #inMemory(space: RecordSpace, plan: ReadPlan): FoundNow | null {
    const found = this.#parts.store.findNow(space, plan);
    if (found !== null) noteSource(this.#parts, plan, 'memory');
    return found;
  }

  /** The first record that matches, as JSON text; null when none does. The limit of a page does not matter. */
  async first(space: RecordSpace, plan: ReadPlan, signal: AbortSignal): Promise<string | null> {
    const shown = shownBy(space, plan);
    // reading one map costs less than reading all columns, and more than reading a few
    const columns = plan.select ? `${recordExpression(shown)} AS _record` : rowColumns;
    const wanted = { ...plan, page: firstOf(plan) };
    type Row = StoredRow | { readonly _record: string };
    const [row] = await this.#few(new RowsFind<Row>(this.#parts, space, wanted, columns, signal));
    if (row === undefined) return null;
    return '_record' in row ? row._record : shownJson(row, shown);
  }

  oldest(space: RecordSpace, signal: AbortSignal): Promise<string | null> {
    return this.first(space, oldest, signal);
  }

  byId(space: RecordSpace, id: string, signal: AbortSignal): Promise<string | null> {
    return this.first(space, { ...oldest, conditions: { ...allRecords, plain: [equals('id', id)] } }, signal);
  }

  /** The id of the record that `first` would answer; null when none matches. */
  async firstId(space: RecordSpace, plan: ReadPlan, signal: AbortSignal): Promise<string | null> {
    const wanted = { ...plan, page: firstOf(plan) };
    const find = new RowsFind<Pick<StoredRow, '_id'>>(this.#parts, space, wanted, '_id', signal);
    const [row] = await this.#few(find);
    return row?._id ?? null;
  }

  oldestId(space: RecordSpace, signal: AbortSignal): Promise<string | null> {
    return this.firstId(space, oldest, signal);
  }

  /** The first records that match: their ids, and how many bytes their values are as text. */
  async matching(
    space: RecordSpace,
    { conditions, limit }: { readonly conditions: Conditions; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly SizedRow[]> {
    const plan: ReadPlan = { ...oldest, conditions, page: { limit, offset: 0 } };
    return this.#few(new SizedRowsFind(this.#parts, space, plan, sizedColumns, signal));
  }

  async matches(
    space: RecordSpace,
    conditions: Conditions,
    id: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const wanted = ruled(space, conditions);
    const { relationship, plain, hashed } = wanted;
    if (hashed.length === 0) {
      const [row] = await this.#parts.store.lookUp(space, { id }, signal);
      return row !== undefined && rowTest(wanted)(row);
    }
    // with the id as a condition, only one record has to be checked against hashes
    const narrowed = await this.#parts.candidates.narrow(
      space,
      relationship === 'And' ? { ...wanted, plain: [...plain, equals('id', id)] } : wanted,
      signal,
    );
    if (narrowed === null) return false;
    const where = [...(narrowed.where ? [narrowed.where] : []), idsSql([id])].join(' AND ');
    const found = await this.#rows(space, { ...narrowed, where, columns: '1', tail: 'LIMIT 1' }, signal);
    return found.length > 0;
  }

  /** How many records meet the conditions, if they are in memory; null: they are not. */
  countNow(space: RecordSpace, conditions: Conditions): number | null {
    const plan = ruledPlan(space, { conditions, sort: null, page: null });
    return this.#parts.store.findNow(space, plan)?.numbers.length ?? null;
  }

  /** @param conditions absent: all are counted, at any cost. Else throws a 422 when it would cost too much */
  async count(space: RecordSpace, signal: AbortSignal, conditions?: Conditions): Promise<number> {
    const wanted = ruled(space, conditions ?? allRecords);
    const narrowed = await this.#parts.candidates.narrow(space, wanted, signal);
    if (narrowed === null) return 0;
    this.#parts.count(narrowed.indexed?.length ? 'index' : 'scan');
    const columns = 'toFloat64(count()) AS _records';
    const cost = costFor(space, this.#parts.cost);
    const tail = conditions === undefined ? '' : `SETTINGS ${costSql(cost.maxRows, space.limits?.timeout)}`;
    try {
      const [row] = await this.#rows<{ _records: number }>(space, { ...narrowed, columns, tail }, signal);
      return row?._records ?? 0;
    } catch (error) {
      throw conditions === undefined ? error : readError(error, space, conditions, cost);
    }
  }

  async total(space: RecordSpace, { conditions }: ReadPlan, signal: AbortSignal): Promise<number> {
    if (space.missing) return 0;
    return this.countNow(space, conditions) ?? this.count(space, signal, conditions);
  }

  /** The groups of an aggregation as a JSON array. Throws a 422 when it would cost too much. */
  async aggregate(space: RecordSpace, plan: AggregatePlan, signal: AbortSignal): Promise<Uint8Array> {
    const wanted = ruled(space, plan.where);
    const narrowed = space.missing ? null : await this.#parts.candidates.narrow(space, wanted, signal);
    if (narrowed === null)
      return groupsJson(plan, wantedRows(plan, plan.groups.length > 0 ? [] : [emptyRow(plan)]));
    const isFilled = plan.groups.some(({ fill }) => fill);
    const cost = costFor(space, this.#parts.cost);
    const limits = costSql(cost.maxRows, space.limits?.timeout);
    const sql = aggregateSql(plan, limits, isFilled ? aggregateLimits.rows + 1 : null);
    try {
      return foundGroupsJson(plan, await this.#rows<AnsweredRow>(space, { ...narrowed, ...sql }, signal));
    } catch (error) {
      throw readError(error, space, plan.where, cost);
    }
  }

  /** The bytes of a JSON array of records (`ListFind`). Rejects when the statement fails before its first record. */
  async list(
    space: RecordSpace,
    plan: ReadPlan,
    signal: AbortSignal,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
    const now = this.listNow(space, plan);
    if (now !== null) return now;
    return new ListFind(this.#parts, space, plan, signal).answer();
  }

  /** From memory, if the records are there. */
  async #few<Row>(find: RowsFind<Row>): Promise<readonly Row[]> {
    const now = this.#inMemory(find.space, find.plan);
    return now === null ? find.answer() : find.fromRows(now.table.rows(now.numbers));
  }

  #rows<Row>(space: RecordSpace, selection: Selection, signal: AbortSignal): Promise<Row[]> {
    return this.#parts.store.db.rows<Row>({
      ...this.#parts.store.table.select(space.id, selection),
      signal,
      account: space.ownerId,
    });
  }
}

const noRecord = Buffer.from('null');
