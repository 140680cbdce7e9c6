import type { Database } from '../../common/clickhouse/database.ts';
import type { Queued } from '../../common/clickhouse/statement-queues.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { anyOfSql } from '../sql/conditions-sql.ts';
import { PackedRows, readRow } from '../sql/packed-row.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import { timeout } from './lookup-statement.ts';

/** Fields that are compared with a value each, in the order of their slots. */
interface Compared {
  readonly fields: readonly Field[];
  readonly values: readonly StoredValue[];
}

/** One of the records that have these values. */
export interface Find extends Queued, Compared {
  readonly space: RecordSpace;
  readonly plan: ReadPlan;
  /** Of the statement; those of one shape have the same. */
  readonly settings: string;
  /** Settles when the request has its answer, where it was left to a statement of its own. */
  readonly over: Promise<void>;
}

/** Records of one request, and bytes of a statement's: beyond them requests have statements of their own, which stream. */
export const mostRecords = 100;
const mostBytes = 8 * 1024 ** 2;

/** The rows of the values of each of several finds, which compare the same fields of one space; null: they are too large. */
export async function readFinds(
  { db, table }: { readonly db: Database; readonly table: RecordsTable },
  finds: readonly Find[],
): Promise<(find: Find) => readonly StoredRow[] | null> {
  const [{ space, plan, fields, settings }] = finds as [Find];
  const distinct = new Map(finds.map(({ values }) => [keyOf(values), values]));
  const most = Math.max(
    ...finds.map(({ plan: { page } }) => (page === null ? mostRecords + 1 : endOf(page))),
  );
  const selection = { columns: rowColumns, ...anyOfSql(fields, [...distinct.values()], plan.sort, most) };
  const statement = { ...table.select(space.id, selection), account: space.ownerId };
  const stream = await db.stream({
    ...{ ...statement, settings, format: 'RowBinary', fewRows: true },
    signal: AbortSignal.timeout(timeout),
  });
  const found = new Map<string, StoredRow[]>();
  const rows = new PackedRows();
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.byteLength;
    if (bytes > mostBytes) return () => null;
    rows.add(piece);
    while (rows.next()) {
      const row = readRow(rows.bytes, rows.start);
      const key = keyOf(fields.map((field) => row._doc[slotOf(field)] as string));
      const same = found.get(key);
      if (same === undefined) found.set(key, [row]);
      else same.push(row);
    }
  }
  return ({ values }) => found.get(keyOf(values)) ?? [];
}

/** The compared fields of a plan; null: it is not by equal values of fields alone, or may have many records. */
export function comparedIn({ conditions, page }: ReadPlan): Compared | null {
  const { relationship, plain, others, hashed } = conditions;
  if (hashed.length > 0 || others.length > 0 || plain.length === 0) return null;
  if (relationship === 'Or' && plain.length > 1) return null;
  if (page !== null && (page.after !== undefined || endOf(page) > mostRecords)) return null;
  const byField = new Map<Field, StoredValue>();
  for (const { target, value } of plain) {
    const isField = typeof target !== 'string' && !byField.has(target);
    if (!isField || value instanceof Date) return null;
    byField.set(target, value);
  }
  const fields = [...byField.keys()].sort((a, b) => (slotOf(a) < slotOf(b) ? -1 : 1));
  return { fields, values: fields.map((field) => byField.get(field) as StoredValue) };
}

/** Names the finds that can share a statement. */
export function shapeOf({ id }: RecordSpace, { sort, page }: ReadPlan, { fields }: Compared): string {
  const order = sort?.map(
    ({ target, descending }) =>
      `${typeof target === 'string' ? target : slotOf(target)}${descending ? ' down' : ''}`,
  );
  return `${id} ${fields.map(slotOf).join()} ${order?.join() ?? ''}${page === null ? '' : ' page'}`;
}

/** The page of a plan. @param rows those of its values */
export function pageOf(rows: readonly StoredRow[], { page }: Pick<ReadPlan, 'page'>): readonly StoredRow[] {
  return page === null ? rows : rows.slice(page.offset, endOf(page));
}

function endOf({ offset, limit }: NonNullable<ReadPlan['page']>): number {
  return offset + limit;
}

/** Equal values have equal texts. */
function keyOf(values: readonly StoredValue[]): string {
  return JSON.stringify(values.map(String));
}
