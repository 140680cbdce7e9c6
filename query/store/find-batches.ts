import { LRUCache } from 'lru-cache';
import type { Database } from '../../common/clickhouse/database.ts';
import { type Queued, StatementQueues, type Waiting } from '../../common/clickhouse/statement-queues.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import type { Condition } from '../input/parse-conditions.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { anyOfSql } from '../sql/conditions-sql.ts';
import { PackedRows, readRow } from '../sql/packed-row.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import type { FindAnswers } from './record-store.ts';

/** Fields that are compared with a value each, in the order of their slots. */
interface Values {
  readonly fields: readonly Field[];
  readonly values: readonly StoredValue[];
}

interface Find extends Queued, Values {
  readonly space: RecordSpace;
  readonly plan: ReadPlan;
  /** Settles when the request has its answer, where it was left to a statement of its own. */
  readonly over: Promise<void>;
}

/** Requests of one statement: 64 cost twice what one does. */
const findsPerStatement = 64;
const waitingLimit = 20_000;
/** Records of one request, and bytes of a statement's: beyond them requests have statements of their own, which stream. */
const mostRecords = 100;
const mostBytes = 8 * 1024 ** 2;
/** Shapes of requests that are known to have more, and for how long that counts. Milliseconds. */
const largeShapes = 1000;
const largeFor = 60_000;
/** Milliseconds; others wait for a statement too, so no request's signal ends it. */
const timeout = 30_000;

/**
 * Finds by equal values of fields. Those of one space that compare the same fields, and want the same order, share
 * statements: what comes while one is under way gathers for the next one. Other spaces do not wait for it.
 */
export class FindBatches {
  readonly #db: Database;
  readonly #table: RecordsTable;
  readonly #queues: StatementQueues<Find, readonly StoredRow[] | null>;
  readonly #large = new LRUCache<string, true>({ max: largeShapes, ttl: largeFor });

  constructor(args: { db: Database; table: RecordsTable; metrics?: Pick<Metrics, 'batch'> | undefined }) {
    this.#db = args.db;
    this.#table = args.table;
    this.#queues = new StatementQueues({
      pendingLimit: waitingLimit,
      full: 'too many finds wait',
      sizeLimit: findsPerStatement,
      onStatement: args.metrics?.batch('record_finds'),
      run: (finds) => this.#run(finds),
    });
  }

  /** The records of a plan. */
  async find<Result>(
    space: RecordSpace,
    plan: ReadPlan,
    signal: AbortSignal,
    { shared, alone }: FindAnswers<Result>,
  ): Promise<Result> {
    const compared = valuesOf(plan);
    if (compared === null) return alone();
    const queue = shapeOf(space, plan, compared);
    if (this.#large.has(queue)) return alone();
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    try {
      const waiting = { queue, shape: '', size: 1, account: space.ownerId, signal, space, plan, over };
      const rows = await this.#queues.add({ ...waiting, ...compared });
      return rows === null ? await alone() : shared(rows);
    } finally {
      end();
    }
  }

  async #run(finds: readonly Waiting<Find, readonly StoredRow[] | null>[]): Promise<void> {
    const [first] = finds as [Waiting<Find, readonly StoredRow[] | null>];
    if (finds.length === 1) {
      first.resolve(null);
      // what comes meanwhile gathers
      return first.over;
    }
    try {
      const found = await this.#read(finds);
      for (const find of finds) {
        const rows = found?.get(keyOfValues(find.values)) ?? [];
        find.resolve(found === null || rows.length > mostRecords ? null : pageOf(rows, find.plan));
      }
      if (found === null || [...found.values()].some(({ length }) => length > mostRecords))
        this.#large.set(first.queue, true);
    } catch (error) {
      for (const { reject } of finds) reject(error);
    }
  }

  /** The rows of all values together, by the values; null: they are too large. */
  async #read(finds: readonly Find[]): Promise<ReadonlyMap<string, StoredRow[]> | null> {
    const [{ space, plan, fields }] = finds as [Find];
    const distinct = new Map(finds.map(({ values }) => [keyOfValues(values), values]));
    const most = Math.max(
      ...finds.map(({ plan: { page } }) => (page === null ? mostRecords + 1 : end(page))),
    );
    const selection = { columns: rowColumns, ...anyOfSql(fields, [...distinct.values()], plan.sort, most) };
    const found = new Map<string, StoredRow[]>();
    const signal = AbortSignal.timeout(timeout);
    const statement = { ...this.#table.select(space.id, selection), account: space.ownerId, signal };
    const rows = new PackedRows();
    let bytes = 0;
    for await (const piece of await this.#db.stream({ ...statement, format: 'RowBinary', fewRows: true })) {
      bytes += piece.byteLength;
      if (bytes > mostBytes) return null;
      rows.add(piece);
      while (rows.next()) addRow(found, fields, readRow(rows.bytes, rows.start));
    }
    return found;
  }
}

/** Null: it is not by equal values of fields alone, or may have many records. */
function valuesOf({ conditions, page }: ReadPlan): Values | null {
  const { relationship, plain, hashed } = conditions;
  if (hashed.length > 0 || plain.length === 0 || (relationship === 'Or' && plain.length > 1)) return null;
  if (page !== null && (page.after !== undefined || end(page) > mostRecords)) return null;
  const byField = new Map<Field, StoredValue>();
  for (const { target, operator, value } of plain) {
    const isField = operator === 'eq' && typeof target !== 'string' && !byField.has(target);
    if (!isField || value instanceof Date) return null;
    byField.set(target, value);
  }
  const fields = [...byField.keys()].sort((a, b) => (slotOf(a) < slotOf(b) ? -1 : 1));
  return { fields, values: fields.map((field) => byField.get(field) as StoredValue) };
}

function shapeOf({ id }: RecordSpace, { sort, page }: ReadPlan, { fields }: Values): string {
  const by = sort === null || typeof sort.target === 'string' ? sort?.target : slotOf(sort.target);
  const order = `${by ?? ''}${sort?.descending === true ? ' down' : ''}`;
  return `${id} ${fields.map(slotOf).join()} ${order}${page === null ? '' : ' page'}`;
}

function end({ offset, limit }: NonNullable<ReadPlan['page']>): number {
  return offset + limit;
}

function pageOf(rows: readonly StoredRow[], { page }: ReadPlan): readonly StoredRow[] {
  return page === null ? rows : rows.slice(page.offset, end(page));
}

/** Equal values have equal texts. */
function keyOfValues(values: readonly Condition['value'][]): string {
  return JSON.stringify(values.map(String));
}

function addRow(found: Map<string, StoredRow[]>, fields: readonly Field[], row: StoredRow): void {
  const key = JSON.stringify(fields.map((field) => row._doc[slotOf(field)]));
  const rows = found.get(key);
  if (rows === undefined) found.set(key, [row]);
  else rows.push(row);
}
