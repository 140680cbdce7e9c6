import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import type { Candidates, NarrowedSelection } from './candidates.ts';
import type { Conditions } from './input/parse-conditions.ts';
import type { ReadPlan } from './input/read-plan.ts';
import { asJsonArray } from './json-array.ts';
import { isSearch, lookupOf, mayEndEarly, tailOf, whereOf } from './plan-sql.ts';
import { costFor, costOf, nextLimits, type ReadCost, readError, type StatementLimits } from './read-cost.ts';
import { ruledPlan } from './ruled.ts';
import { shownJson } from './sql/record-row.ts';
import type { StoredRow } from './sql/stored-row.ts';
import { recordExpression } from './sql/value-sql.ts';
import { pageOf } from './store/find-statement.ts';
import type { RecordStore } from './store/record-store.ts';
import { rowTest } from './store/row-test.ts';
import { StoreFind } from './store/store-find.ts';
import { type RecordParts, wholeRecord } from './structure/record-parts.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** What reads of records work with. */
export interface ReadParts {
  readonly store: RecordStore;
  readonly candidates: Candidates;
  /** The bound of one statement. */
  readonly cost: ReadCost;
  /** Counts reads by where their records come from. */
  readonly count: (source: ReadSource) => void;
}

/** What one statement reads, and its limits. */
type LimitedSelection = NarrowedSelection & StatementLimits;

/** A page of at most this many records is read in one piece, unless they are large. */
const fewRecords = 1000;

/**
 * A find that rows in memory can't answer. It is a look-up by an id or a unique value, or else a statement, which it shares
 * with other finds or runs by itself. A subclass makes the answer.
 */
export abstract class RecordFind<Result> extends StoreFind {
  protected readonly parts: ReadParts;
  /** Without the conditions of rules: error messages name only what the request has. */
  readonly #conditions: Conditions;

  constructor(parts: ReadParts, space: RecordSpace, plan: ReadPlan, signal: AbortSignal) {
    super(space, ruledPlan(space, plan), signal);
    this.parts = parts;
    this.#conditions = plan.conditions;
  }

  /** The answer from the rows of a look-up, or of a statement that finds share. */
  abstract fromRows(rows: readonly StoredRow[]): Result;

  /** The answer by a statement of this find only, because it may have many records or nobody waits to share one. */
  protected abstract fromStatement(selection: LimitedSelection): Promise<Result>;

  async answer(): Promise<Result> {
    const { space, plan, parts } = this;
    const key = plan.page?.after === undefined ? lookupOf(plan.conditions) : null;
    if (key !== null) {
      noteSource(parts, plan, 'index');
      const rows = await parts.store.lookUp(space, key, this.signal);
      // at most one record has an id or a unique value, so nothing has to be sorted
      return this.fromRows(pageOf(rows.filter(rowTest(plan.conditions)), plan));
    }
    const cost = costFor(space, parts.cost);
    const maxRows = isSearch(plan) ? cost.maxRows : null;
    this.settings = costOf({ maxRows });
    try {
      const rows = await parts.store.find(this);
      return rows === null ? await this.#unshared({ maxRows }) : this.fromRows(rows);
    } catch (error) {
      throw maxRows === null ? error : readError(error, space, this.#conditions, cost);
    } finally {
      if (this.source !== null) noteSource(parts, plan, this.source);
      this.end();
    }
  }

  async #unshared(limits: StatementLimits): Promise<Result> {
    const { space, plan } = this;
    const narrowed = await this.parts.candidates.narrow(space, plan.conditions, this.signal);
    if (narrowed === null) return this.fromRows([]);
    try {
      return await this.fromStatement({ ...limits, ...narrowed });
    } catch (error) {
      const next = mayEndEarly(plan) ? nextLimits(error, limits) : null;
      if (next === null) throw error;
      return this.fromStatement({ ...next, ...narrowed });
    }
  }
}

/**
 * The bytes of a JSON array of records, each on a line. Many records are streamed as the engine writes them: they are never
 * parsed, and memory does not grow with their number.
 */
export class ListFind extends RecordFind<Uint8Array | AsyncIterable<Uint8Array>> {
  fromRows(rows: readonly StoredRow[]): Uint8Array {
    const shown = shownBy(this.space, this.plan);
    return Buffer.from(`[${rows.map((row) => shownJson(row, shown)).join('\n,')}]`);
  }

  protected async fromStatement(selection: LimitedSelection): Promise<AsyncIterable<Uint8Array>> {
    const { space, plan } = this;
    const { db, table } = this.parts.store;
    const { sort, page } = plan;
    // every line begins with a comma, and line breaks between elements are white space
    const columns = `${recordExpression(shownBy(space, plan), ',')} AS _record`;
    const where = whereOf(selection, plan);
    const statement = table.select(space.id, { columns, tail: tailOf(plan), ...selection, where });
    // few records usually meet conditions, and without a sort the engine computes only these
    const few = sort === null && Boolean(selection.where);
    const stream = await db.stream({
      format: 'TSVRaw',
      settings: costOf(selection),
      timeout: this.timeout,
      fewRows: page === null ? few : page.limit <= fewRecords,
      signal: this.signal,
      account: space.ownerId,
      ...statement,
    });
    return asJsonArray(stream);
  }
}

/** A few records as rows with some columns. */
export class RowsFind<Row> extends RecordFind<readonly Row[]> {
  readonly #columns: string;

  /** @param columns SQL of what `Row` has */
  constructor(parts: ReadParts, space: RecordSpace, plan: ReadPlan, columns: string, signal: AbortSignal) {
    super(parts, space, plan, signal);
    this.#columns = columns;
  }

  /** Whole rows, which have more than `Row`. */
  fromRows(rows: readonly StoredRow[]): readonly Row[] {
    return rows as readonly Row[];
  }

  protected fromStatement(selection: LimitedSelection): Promise<readonly Row[]> {
    const { space, plan } = this;
    const { db, table } = this.parts.store;
    const where = whereOf(selection, plan);
    const tail = tailOf(plan, costOf(selection, space));
    return db.rows<Row>({
      ...table.select(space.id, { columns: this.#columns, tail, ...selection, where }),
      signal: this.signal,
      account: space.ownerId,
    });
  }
}

/** Counts a read, and notes for its request where the records come from. */
export function noteSource({ count }: ReadParts, { trace }: ReadPlan, source: ReadSource): void {
  count(source);
  if (trace) trace.source = source;
}

export function shownBy({ structure }: RecordSpace, { select }: ReadPlan): RecordParts {
  return select ?? wholeRecord(structure);
}
