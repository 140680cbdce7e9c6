import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import { affordable, costFor, costOf, type ReadCost, type StatementLimits } from './affordable.ts';
import type { Candidates, Narrowed } from './candidates.ts';
import { emptyRow, type GroupRow, groupsJson, wantedRows } from './group-rows.ts';
import { type AggregatePlan, aggregateLimits } from './input/aggregate/aggregate-plan.ts';
import { allRecords, type Conditions, equals } from './input/parse-conditions.ts';
import type { ReadPlan } from './input/read-plan.ts';
import { asJsonArray } from './json-array.ts';
import { firstOf, isSearch, lookupOf, tailOf, whereOf, withinRows } from './plan-sql.ts';
import { ruled, ruledPlan } from './ruled.ts';
import { aggregateSql, costSql } from './sql/aggregate-sql.ts';
import { idsSql } from './sql/conditions-sql.ts';
import { rowColumns, shownJson, valueBytes } from './sql/record-row.ts';
import type { Selection } from './sql/records-table.ts';
import type { StoredRow } from './sql/stored-row.ts';
import { recordExpression } from './sql/value-sql.ts';
import { pageOf } from './store/find-statement.ts';
import type { FindAnswers, FoundNow, RecordStore } from './store/record-store.ts';
import { rowTest } from './store/row-test.ts';
import { type RecordParts, wholeRecord } from './structure/record-parts.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** A page with no more of them is read in one piece, unless they are large. */
const fewRecords = 1000;

/** A search, with its limit of records planned to be read, or read. Null: it is no search. */
type Limited = Narrowed & StatementLimits;

/** Answers from rows of a shared statement, or by a statement of its own. */
interface Answers<Result> extends Pick<FindAnswers<Result>, 'shared'> {
  readonly unshared: (narrowed: Limited) => Promise<Result>;
}

export const oldest: ReadPlan = { conditions: allRecords, sort: null, page: null };

/**
 * Reads records the cheapest way there is. A kept answer comes before it (operations/kept-read.ts). Then these are tried:
 * rows in memory (`findNow`; memory/plan-search.ts), a look-up by an id or a unique value (`lookUp`), and a statement (`find`;
 * store/shared-reads.ts), which scans a space unless `keyedConditions` has values for the index (sql/conditions-sql.ts).
 */
export class RecordReader {
  readonly #store: RecordStore;
  readonly #candidates: Candidates;
  readonly #cost: ReadCost;
  readonly #count: (source: ReadSource) => void;

  /** @param args.cost the bound of one statement @param args.count called with the way that each read goes */
  constructor(args: {
    store: RecordStore;
    candidates: Candidates;
    cost: ReadCost;
    count: (source: ReadSource) => void;
  }) {
    this.#store = args.store;
    this.#candidates = args.candidates;
    this.#cost = args.cost;
    this.#count = args.count;
  }

  /** The answer of `list`, if rows in memory can give it at once; null: they can't. */
  listNow(space: RecordSpace, plan: ReadPlan): Uint8Array | null {
    const found = this.#inMemory(space, plan);
    return found === null ? null : found.table.list(shownBy(space, plan), found.numbers);
  }

  /** The answer of `first`, likewise: JSON text, `null` included. */
  firstNow(space: RecordSpace, plan: ReadPlan): Uint8Array | null {
    const found = this.#inMemory(space, { ...plan, page: firstOf(plan) });
    if (found === null) return null;
    const [number] = found.numbers;
    return number === undefined ? noRecord : found.table.record(shownBy(space, plan), number);
  }

  #inMemory(space: RecordSpace, plan: ReadPlan): FoundNow | null {
    const found = this.#store.findNow(space, ruledPlan(space, plan));
    if (found !== null) this.#tell(plan, 'memory');
    return found;
  }

  #tell({ tell }: ReadPlan, source: ReadSource): void {
    this.#count(source);
    tell?.(source);
  }

  /** The first record that matches, as JSON text; null when none does. The limit of a page does not matter. */
  async first(space: RecordSpace, plan: ReadPlan, signal: AbortSignal): Promise<string | null> {
    const shown = shownBy(space, plan);
    // reading one map costs less than all columns, and more than a few of them
    const columns = plan.select ? `${recordExpression(shown)} AS _record` : rowColumns;
    const wanted = { ...plan, page: firstOf(plan) };
    const [row] = await this.#few<StoredRow | { readonly _record: string }>(space, wanted, columns, signal);
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
    const [row] = await this.#few<Pick<StoredRow, '_id'>>(space, wanted, '_id', signal);
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
  ): Promise<readonly { readonly _id: string; readonly _bytes: number }[]> {
    const plan: ReadPlan = { ...oldest, conditions, page: { limit, offset: 0 } };
    const columns = `_id, toFloat64(${valueBytes}) AS _bytes`;
    return this.#few(space, plan, columns, signal, ({ _id, _doc }) => {
      return { _id, _bytes: Buffer.byteLength(Object.values(_doc).join('')) };
    });
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
      const [row] = await this.#store.lookUp(space, { id }, signal);
      return row !== undefined && rowTest(wanted)(row);
    }
    // with the id among them, conditions on hashed fields have one record to check
    const narrowed = await this.#candidates.narrow(
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
    return this.#store.findNow(space, plan)?.numbers.length ?? null;
  }

  /** @param conditions absent: all are counted, at any cost. Else throws a 422 when it would cost too much */
  async count(space: RecordSpace, signal: AbortSignal, conditions?: Conditions): Promise<number> {
    const wanted = ruled(space, conditions ?? allRecords);
    const narrowed = await this.#candidates.narrow(space, wanted, signal);
    if (narrowed === null) return 0;
    this.#count(narrowed.keyed?.length ? 'index' : 'scan');
    const columns = 'toFloat64(count()) AS _records';
    const cost = costFor(space, this.#cost);
    const tail = conditions === undefined ? '' : `SETTINGS ${costSql(cost.maxRows, space.limits?.timeout)}`;
    const count = () => this.#rows<{ _records: number }>(space, { ...narrowed, columns, tail }, signal);
    const [row] = await (conditions === undefined ? count() : affordable(space, conditions, cost, count));
    return row?._records ?? 0;
  }

  async total(space: RecordSpace, { conditions }: ReadPlan, signal: AbortSignal): Promise<number> {
    if (space.missing) return 0;
    return this.countNow(space, conditions) ?? this.count(space, signal, conditions);
  }

  /** The groups of an aggregation as a JSON array. Throws a 422 when it would cost too much. */
  async aggregate(space: RecordSpace, plan: AggregatePlan, signal: AbortSignal): Promise<Uint8Array> {
    const wanted = ruled(space, plan.where);
    const narrowed = space.missing ? null : await this.#candidates.narrow(space, wanted, signal);
    if (narrowed === null)
      return groupsJson(plan, wantedRows(plan, plan.groups.length > 0 ? [] : [emptyRow(plan)]));
    const isFilled = plan.groups.some(({ fill }) => fill);
    const cost = costFor(space, this.#cost);
    const limits = costSql(cost.maxRows, space.limits?.timeout);
    const sql = aggregateSql(plan, limits, isFilled ? aggregateLimits.rows + 1 : null);
    const rows = await affordable(space, plan.where, cost, () =>
      this.#rows<GroupRow>(space, { ...narrowed, ...sql }, signal),
    );
    return groupsJson(plan, isFilled ? wantedRows(plan, rows) : rows);
  }

  /**
   * The bytes of a JSON array of records, each on a line of its own: all of few. Many come as the engine makes them: they
   * are never parsed, and memory does not grow with their number. Rejects when the statement fails before its first record.
   */
  async list(
    space: RecordSpace,
    plan: ReadPlan,
    signal: AbortSignal,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
    const now = this.listNow(space, plan);
    if (now !== null) return now;
    const shown = shownBy(space, plan);
    return this.#read<Uint8Array | AsyncIterable<Uint8Array>>(space, plan, signal, {
      shared: (rows) => Buffer.from(`[${rows.map((row) => shownJson(row, shown)).join('\n,')}]`),
      unshared: (narrowed) => this.#streamRows(space, narrowed, plan, signal),
    });
  }

  async #streamRows(
    space: RecordSpace,
    narrowed: Limited,
    plan: ReadPlan,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const { sort, page } = plan;
    // every line begins with a comma, and line breaks between elements are white space
    const columns = `${recordExpression(shownBy(space, plan), ',')} AS _record`;
    const selection = { ...narrowed, where: whereOf(narrowed, plan), columns, tail: tailOf(plan) };
    const statement = this.#store.table.select(space.id, selection);
    // conditions mostly leave few, and without a sort no more is computed than they leave
    const few = sort === null && Boolean(narrowed.where);
    const fewRows = page === null ? few : page.limit <= fewRecords;
    const limits = { settings: costOf(narrowed), timeout: space.limits?.timeout };
    const read = { ...statement, ...limits, fewRows, signal, account: space.ownerId };
    return asJsonArray(await this.#store.db.stream({ ...read, format: 'TSVRaw' }));
  }

  /**
   * The records of a plan that wants few.
   * @param columns of `Row` @param rowOf makes the same of a whole row
   */
  async #few<Row>(
    space: RecordSpace,
    plan: ReadPlan,
    columns: string,
    signal: AbortSignal,
    rowOf?: (row: StoredRow) => Row,
  ): Promise<readonly Row[]> {
    const shared = (rows: readonly StoredRow[]) => (rowOf ? rows.map(rowOf) : (rows as readonly Row[]));
    const now = this.#inMemory(space, plan);
    if (now !== null) return shared(now.table.rows(now.numbers));
    const unshared = (narrowed: Limited): Promise<readonly Row[]> => {
      const tail = tailOf(plan, costOf(narrowed, space));
      return this.#rows(space, { ...narrowed, where: whereOf(narrowed, plan), columns, tail }, signal);
    };
    return this.#read(space, plan, signal, { shared, unshared });
  }

  /** The records of a plan, looked up or found together with those of other requests, or by a statement of its own. */
  async #read<Result>(
    space: RecordSpace,
    given: ReadPlan,
    signal: AbortSignal,
    { shared, unshared }: Answers<Result>,
  ): Promise<Result> {
    const plan = ruledPlan(space, given);
    const { conditions, page } = plan;
    const wanted = page?.after === undefined ? lookupOf(conditions) : null;
    if (wanted !== null) {
      this.#tell(plan, 'index');
      const rows = await this.#store.lookUp(space, wanted, signal);
      // at most one record has an id or a unique value, so there is nothing to sort
      const found = rows.filter(rowTest(conditions));
      return shared(pageOf(found, plan));
    }
    const cost = costFor(space, this.#cost);
    const maxRows = isSearch(plan) ? cost.maxRows : null;
    const answers: FindAnswers<Result> = {
      shared,
      unshared: async () => {
        const narrowed = await this.#candidates.narrow(space, conditions, signal);
        if (narrowed === null) return shared([]);
        return withinRows(plan, maxRows, (limits) => unshared({ ...narrowed, ...limits }));
      },
      tell: (source) => this.#tell(plan, source),
      settings: costOf({ maxRows }),
      timeout: space.limits?.timeout,
    };
    const find = () => this.#store.find(space, plan, signal, answers);
    return isSearch(plan) ? affordable(space, given.conditions, cost, find) : find();
  }

  #rows<Row>(space: RecordSpace, selection: Selection, signal: AbortSignal): Promise<Row[]> {
    return this.#store.db.rows<Row>({
      ...this.#store.table.select(space.id, selection),
      signal,
      account: space.ownerId,
    });
  }
}

function shownBy({ structure }: RecordSpace, { select }: ReadPlan): RecordParts {
  return select ?? wholeRecord(structure);
}

const noRecord = Buffer.from('null');
