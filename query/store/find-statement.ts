import type { Database } from '../../common/clickhouse/database.ts';
import type { Queued } from '../../common/clickhouse/statement-queues.ts';
import type { Comparison, Filter } from '../input/filters/filter.ts';
import type { OperatorName } from '../input/filters/operators.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { Page } from '../input/parse-options.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { anyOfSql, conditionsSql, orderSql, pagesSql, placedColumns } from '../sql/conditions-sql.ts';
import { PackedRows, readRow } from '../sql/packed-row.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { Field, StoredValue, Target } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import { timeout } from './lookup-statement.ts';
import { rowTest } from './row-test.ts';

interface Engine {
  readonly db: Database;
  readonly table: RecordsTable;
}

/** Fields that are compared with a value each, in the order of their slots. Of finds by ranges and lists: none. */
interface Compared {
  readonly fields: readonly Field[];
  readonly values: readonly StoredValue[];
}

/** One of the records that have these values. */
export interface Find extends Queued, Compared {
  readonly space: RecordSpace;
  readonly plan: ReadPlan;
  /** Of the statement; those of one queue have the same. */
  readonly settings: string;
  readonly timeout: number | undefined;
  /** Settles when the request has its answer, where it was left to a statement of its own. */
  readonly over: Promise<void>;
}

/** The pages of one list of values, by their numbers and in order. */
interface Asked {
  readonly values: readonly StoredValue[];
  readonly pages: number[];
}

/** Records of one request, and bytes of a statement's: beyond them requests have statements of their own, which stream. */
const mostRecords = 100;
const mostBytes = 8 * 1024 ** 2;
/** The same of finds by ranges and lists: each record is compared with each of them. */
const mostCompared = { records: 2000, bytes: 1024 ** 2, values: 100, characters: 4000 };
/** Those that cost little to try. */
const sharedOperators: readonly OperatorName[] = ['eq', 'in', 'gt', 'gte', 'lt', 'lte'];

/**
 * The records of each of several finds of one shape. Of pages the engine numbers the ids of all records that have one of
 * the values, and reads the records of these pages alone.
 * @returns null for a find that has too many records, or too large ones
 */
export async function readFinds(
  engine: Engine,
  finds: readonly Find[],
): Promise<(find: Find) => readonly StoredRow[] | null> {
  const [{ space, plan, fields }] = finds as [Find];
  if (fields.length === 0) return readCompared(engine, finds);
  const { table } = engine;
  const asked = askedIn(finds);
  const lists = [...asked.values()];
  const first = anyOfSql(
    fields,
    lists.map(({ values }) => values),
    plan.sort,
    mostRecords + 1,
  );
  const placed = { columns: placedColumns(fields, plan.sort), where: first.where };
  const pages = lists.flatMap((list) => list.pages.map((page) => ({ values: list.values, page })));
  const selection =
    plan.page === null
      ? first
      : {
          where: pagesSql(table.select(space.id, placed).sql, pages, plan.page.limit),
          tail: `ORDER BY ${orderSql(plan.sort)}`,
        };
  const rows = await readRows(engine, finds, selection, mostBytes);
  if (rows === null) return () => null;
  const found = new Map<string, StoredRow[]>();
  for (const row of rows) {
    const key = keyOf(fields.map((field) => row._doc[slotOf(field)] as string));
    const same = found.get(key);
    if (same === undefined) found.set(key, [row]);
    else same.push(row);
  }
  return ({ values, plan: { page } }) => {
    const key = keyOf(values);
    const all = found.get(key) ?? [];
    if (page === null) return all.length > mostRecords ? null : all;
    // every page before one that has records is full
    const start = (asked.get(key) as Asked).pages.indexOf(numberOf(page)) * page.limit;
    return all.slice(start, start + page.limit);
  };
}

/** All records that one of the finds has: each takes its own. */
async function readCompared(
  engine: Engine,
  finds: readonly Find[],
): Promise<(find: Find) => readonly StoredRow[] | null> {
  const { sort } = (finds as [Find])[0].plan;
  const where = new Set(finds.map(({ plan }) => conditionsSql(plan.conditions)));
  const tail = `ORDER BY ${orderSql(sort)} LIMIT ${mostCompared.records + 1}`;
  const rows = await readRows(engine, finds, { where: [...where].join(' OR '), tail }, mostCompared.bytes);
  if (rows === null || rows.length > mostCompared.records) return () => null;
  return ({ plan }) => {
    const found = rows.filter(rowTest(plan.conditions));
    return found.length > mostRecords ? null : found;
  };
}

/** Null: they have too many bytes. */
async function readRows(
  { db, table }: Engine,
  finds: readonly Find[],
  selection: { readonly where: string; readonly tail: string },
  most: number,
): Promise<readonly StoredRow[] | null> {
  const [{ space, settings, timeout: within }] = finds as [Find];
  const stream = await db.stream({
    ...table.select(space.id, { columns: rowColumns, ...selection, where: `(${selection.where})` }),
    ...{ account: space.ownerId, settings, timeout: within, format: 'RowBinary', fewRows: true },
    signal: AbortSignal.timeout(timeout),
  });
  const found: StoredRow[] = [];
  const rows = new PackedRows();
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.byteLength;
    if (bytes > most) return null;
    rows.add(piece);
    while (rows.next()) found.push(readRow(rows.bytes, rows.start));
  }
  return found;
}

/** What several finds ask for, by their values. */
function askedIn(finds: readonly Find[]): ReadonlyMap<string, Asked> {
  const asked = new Map<string, Asked>();
  for (const { values, plan } of finds) {
    const key = keyOf(values);
    const one = asked.get(key) ?? { values, pages: [] };
    asked.set(key, one);
    const page = plan.page === null ? 0 : numberOf(plan.page);
    if (!one.pages.includes(page)) one.pages.push(page);
  }
  for (const { pages } of asked.values()) pages.sort((a, b) => a - b);
  return asked;
}

/** From 0; the offset of a page is a multiple of its length. */
function numberOf({ offset, limit }: Page): number {
  return offset / limit;
}

/** The compared fields of a plan; null: it is by other conditions than can be shared, or may have many records. */
export function comparedIn({ conditions, page }: ReadPlan): Compared | null {
  const { relationship, plain, others, hashed } = conditions;
  if (hashed.length > 0) return null;
  if (others.length > 0) return page === null && areShared(conditions) ? { fields: [], values: [] } : null;
  if (plain.length === 0) return null;
  if (relationship === 'Or' && plain.length > 1) return null;
  if (page !== null && (page.after !== undefined || page.limit > mostRecords)) return null;
  const byField = new Map<Field, StoredValue>();
  for (const { target, value } of plain) {
    const isField = typeof target !== 'string' && !byField.has(target);
    if (!isField || value instanceof Date) return null;
    byField.set(target, value);
  }
  const fields = [...byField.keys()].sort((a, b) => (slotOf(a) < slotOf(b) ? -1 : 1));
  return { fields, values: fields.map((field) => byField.get(field) as StoredValue) };
}

/** Whether many such conditions fit into a statement, and can be tried on each of its records. */
function areShared({ plain, others }: Conditions): boolean {
  const isSimple = (filter: Filter): filter is Comparison =>
    !('group' in filter) && filter.path.length === 0 && sharedOperators.includes(filter.operator);
  if (!others.every(isSimple)) return false;
  const values = [...plain.map(({ value }) => value), ...others.flatMap((one) => one.values)];
  return (
    values.length <= mostCompared.values &&
    values.reduce<number>((sum, value) => sum + String(value).length, 0) <= mostCompared.characters
  );
}

/** Names the finds that can share a statement. */
export function shapeOf(
  { id }: RecordSpace,
  { conditions, sort, page }: ReadPlan,
  { fields }: Compared,
): string {
  const nameOf = (target: Target): string => (typeof target === 'string' ? target : slotOf(target));
  const order = sort?.map(({ target, descending }) => `${nameOf(target)}${descending ? ' down' : ''}`);
  const compared =
    fields.length > 0
      ? fields.map(slotOf)
      : [conditions.relationship, ...conditions.plain, ...conditions.others].map((one) =>
          typeof one === 'string'
            ? one
            : 'group' in one
              ? one.group
              : `${nameOf(one.target)} ${'operator' in one ? one.operator : 'eq'}`,
        );
  return `${id} ${compared.join()} ${order?.join() ?? ''}${page === null ? '' : ` pages of ${page.limit}`}`;
}

/** The page of a plan. @param rows all that it has, in order */
export function pageOf(rows: readonly StoredRow[], { page }: Pick<ReadPlan, 'page'>): readonly StoredRow[] {
  return page === null ? rows : rows.slice(page.offset, page.offset + page.limit);
}

/** Equal values have equal texts. */
function keyOf(values: readonly StoredValue[]): string {
  return JSON.stringify(values.map(String));
}
