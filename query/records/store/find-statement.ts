import type { StatementItem } from '#engine/statement-queues.ts';
import type { Comparison, Filter } from '../input/filters/filter.ts';
import type { OperatorName } from '../input/filters/operators.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { Page } from '../input/parse-options.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import {
  anyOfSql,
  conditionsSql,
  orderColumns,
  orderSql,
  pagesSql,
  placedColumns,
} from '../sql/conditions-sql.ts';
import { PackedRows, readRow } from '../sql/packed-row.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { Sql } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { valueSql } from '../sql/value-sql.ts';
import type { Field, Target } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import type { StoredValue } from '../types/field-type.ts';
import { addToList } from './add-to-list.ts';
import { timeout } from './lookup-statement.ts';
import type { Engine } from './record-store.ts';
import { rowTest } from './row-test.ts';
import type { StoreFind } from './store-find.ts';

/** Fields that are compared with one value each, in the order of their slots. None for finds by ranges and lists. */
interface ComparedFields {
  readonly fields: readonly Field[];
  readonly values: readonly StoredValue[];
}

/** One request's find, in a statement that several share. */
export interface QueuedFind extends StatementItem, ComparedFields {
  readonly space: RecordSpace;
  readonly plan: ReadPlan;
  /** Which fields it compares and how, and everything else that finds of one statement have in common (`formOf`). */
  readonly form: string;
  /** Settings of the statement; all finds of a queue have the same. */
  readonly settings: string;
  readonly timeout: number | undefined;
  readonly find: StoreFind;
}

export type ReadStatement = Sql & { readonly settings?: string };

/** Page numbers, in order, of finds with the same values. */
interface ValuePages {
  readonly values: readonly StoredValue[];
  readonly pages: number[];
}

/**
 * Limits of a shared statement: records of one request, and bytes of all. Beyond them a request gets its own statement,
 * which streams.
 */
const mostRecords = 100;
const mostBytes = 8 * 1024 ** 2;
/** Records of finds of several shapes together. */
const mostTogether = 6400;
/** Results are small: they need not be read in the small blocks of a stream, which cost half as much again. */
const usualBlocks = 'max_block_size = 65409, preferred_block_size_bytes = 1000000';
/** Bytes of records in the engine's memory. */
const mostSorted = `max_bytes_to_sort = ${4 * mostBytes}`;
/** The same limits for finds by ranges and lists, where each record is compared with each find. */
const mostCompared = { records: 2000, bytes: 1024 ** 2, values: 100, characters: 4000 };
/** Operators that are cheap to test on each record. */
const sharedOperators: readonly OperatorName[] = ['eq', 'in', 'gt', 'gte', 'lt', 'lte'];

/** Picks the records of one find; null: too many. */
export type FoundRows = (find: QueuedFind) => readonly StoredRow[] | null;

/** The records of each find of one queue. Null: together they have too many records, or too large ones. */
export function readFinds(engine: Engine, finds: readonly QueuedFind[]): Promise<FoundRows | null> {
  const [{ plan, fields }] = finds as [QueuedFind];
  if (fields.length === 0) return readCompared(engine, finds);
  return plan.page === null ? readEqual(engine, finds) : readPages(engine, finds);
}

/** All records that have the values of one of the finds, whatever their shapes. */
async function readEqual(engine: Engine, finds: readonly QueuedFind[]): Promise<FoundRows | null> {
  const forms = [...findsByForm(finds)].map(([form, same]) => {
    const [{ fields }] = same as [QueuedFind];
    return { form, fields, lists: [...pagesByValues(same).values()].map(({ values }) => values) };
  });
  const [{ fields }] = forms as [(typeof forms)[0]];
  const many = forms.length === 1 ? `${mostRecords + 1} BY ${fields.map(valueSql).join()}` : mostTogether + 1;
  const where = forms.map((one) => anyOfSql(one.fields, one.lists)).join(' OR ');
  const rows = await readRows(engine, finds, sorted(engine, finds, where, many), mostBytes);
  if (rows === null || (forms.length > 1 && rows.length > mostTogether)) return null;
  const found = new Map(forms.map((one) => [one.form, rowsByValues(rows, one.fields)]));
  return ({ form, values }) => {
    const all = found.get(form)?.get(keyOf(values)) ?? [];
    return all.length > mostRecords ? null : all;
  };
}

/** The engine numbers the ids of all records with one of the values, and reads only the records of the wanted pages. */
async function readPages(engine: Engine, finds: readonly QueuedFind[]): Promise<FoundRows | null> {
  const [{ space, plan, fields }] = finds as [QueuedFind];
  const { limit } = plan.page as Page;
  const byValues = pagesByValues(finds);
  const lists = [...byValues.values()];
  const where = anyOfSql(
    fields,
    lists.map(({ values }) => values),
  );
  const placed = engine.table.select(space.id, { columns: placedColumns(fields, plan.sort), where });
  const pages = lists.flatMap((list) => list.pages.map((page) => ({ values: list.values, page })));
  const ofPages = {
    columns: rowColumns,
    where: pagesSql({ placed: placed.sql, fields }, pages, limit),
    tail: `ORDER BY ${orderSql(plan.sort)}`,
  };
  const rows = await readRows(engine, finds, engine.table.select(space.id, ofPages), mostBytes);
  if (rows === null) return null;
  const found = rowsByValues(rows, fields);
  return ({ values, plan: { page } }) => {
    const key = keyOf(values);
    // every page before a page with records is full
    const start = (byValues.get(key) as ValuePages).pages.indexOf(numberOf(page as Page)) * limit;
    return (found.get(key) ?? []).slice(start, start + limit);
  };
}

/** Reads all records that meet any of the finds. Each find picks its own. */
async function readCompared(engine: Engine, finds: readonly QueuedFind[]): Promise<FoundRows | null> {
  const where = [...new Set(finds.map(({ plan }) => conditionsSql(plan.conditions)))].join(' OR ');
  const statement = sorted(engine, finds, where, mostCompared.records + 1);
  const rows = await readRows(engine, finds, statement, mostCompared.bytes);
  if (rows === null || rows.length > mostCompared.records) return null;
  return ({ plan }) => {
    const found = rows.filter(rowTest(plan.conditions));
    return found.length > mostRecords ? null : found;
  };
}

/**
 * Any `many` matches, sorted afterwards: more than `many` is refused anyway, and reading in order would cost
 * the engine three times as much.
 * @param many the number behind LIMIT
 */
function sorted(
  { table }: Engine,
  finds: readonly QueuedFind[],
  where: string,
  many: number | string,
): ReadStatement {
  const [{ space, plan }] = finds as [QueuedFind];
  const columns = [rowColumns, ...orderColumns(plan.sort)].join(', ');
  const some = table.select(space.id, { columns, where: `(${where})`, tail: `LIMIT ${many}` });
  const sql = `SELECT ${rowColumns} FROM (${some.sql}) ORDER BY ${orderSql(plan.sort)}`;
  return { ...some, sql, settings: mostSorted };
}

/** Null: the rows have more than `most` bytes. */
export async function readRows(
  { db }: Engine,
  finds: readonly Pick<QueuedFind, 'space' | 'settings' | 'timeout'>[],
  { settings: own, ...statement }: ReadStatement,
  most: number,
): Promise<readonly StoredRow[] | null> {
  const [{ space, settings, timeout: within }] = finds as [QueuedFind];
  const stream = await db.stream({
    ...statement,
    account: space.ownerId,
    timeout: within,
    format: 'RowBinary',
    fewRows: true,
    settings: [usualBlocks, own, settings].filter(Boolean).join(', '),
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

function findsByForm(finds: readonly QueuedFind[]): ReadonlyMap<string, readonly QueuedFind[]> {
  const forms = new Map<string, QueuedFind[]>();
  for (const find of finds) addToList(forms, find.form, find);
  return forms;
}

/** Records that have a value in each of some fields, by their values. */
function rowsByValues(
  rows: readonly StoredRow[],
  fields: readonly Field[],
): ReadonlyMap<string, readonly StoredRow[]> {
  const found = new Map<string, StoredRow[]>();
  for (const row of rows) {
    const values = fields.map((field) => row._doc[slotOf(field)]);
    if (!values.includes(undefined)) addToList(found, keyOf(values as string[]), row);
  }
  return found;
}

/** The pages that several finds want, by their values. */
function pagesByValues(finds: readonly QueuedFind[]): ReadonlyMap<string, ValuePages> {
  const byValues = new Map<string, ValuePages>();
  for (const { values, plan } of finds) {
    const key = keyOf(values);
    const one = byValues.get(key) ?? { values, pages: [] };
    byValues.set(key, one);
    const page = plan.page === null ? 0 : numberOf(plan.page);
    if (!one.pages.includes(page)) one.pages.push(page);
  }
  for (const { pages } of byValues.values()) pages.sort((a, b) => a - b);
  return byValues;
}

/** Whether finds of this page can share a statement. */
function isNumbered({ after, offset, limit }: Page): boolean {
  return after === undefined && limit <= mostRecords && offset % limit === 0;
}

/** From 0; the offset of a page is a multiple of its length. */
function numberOf({ offset, limit }: Page): number {
  return offset / limit;
}

/** The compared fields of a plan; null: its conditions can't share a statement, or it may have many records. */
export function comparedIn({ conditions, page }: ReadPlan): ComparedFields | null {
  const { relationship, plain, others, hashed } = conditions;
  if (hashed.length > 0) return null;
  if (others.length > 0) return page === null && areShared(conditions) ? { fields: [], values: [] } : null;
  if (plain.length === 0) return null;
  if (relationship === 'Or' && plain.length > 1) return null;
  if (page !== null && !isNumbered(page)) return null;
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

/**
 * Names what finds have in common.
 * @param limits of the statement
 * @returns form: the same for finds that compare the same fields; together: the same for finds that can share a statement
 */
export function formOf(
  { id }: RecordSpace,
  { conditions, sort, page }: ReadPlan,
  { fields }: ComparedFields,
  limits: string,
): { readonly form: string; readonly together: string } {
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
  const nameFor = (what: string): string => `${id} ${what} ${sortName(sort)} ${limits}`;
  const form = nameFor(`${compared.join()}${page === null ? '' : ` pages of ${page.limit}`}`);
  return { form, together: fields.length > 0 && page === null ? nameFor('any') : form };
}

function nameOf(target: Target): string {
  return typeof target === 'string' ? target : slotOf(target);
}

export function sortName(sort: ReadPlan['sort']): string {
  return sort?.map(({ target, descending }) => `${nameOf(target)}${descending ? ' down' : ''}`).join() ?? '';
}

/** The page of a plan. @param rows all matches, in order */
export function pageOf(rows: readonly StoredRow[], { page }: Pick<ReadPlan, 'page'>): readonly StoredRow[] {
  return page === null ? rows : rows.slice(page.offset, page.offset + page.limit);
}

/** Equal values have equal texts. */
function keyOf(values: readonly StoredValue[]): string {
  return JSON.stringify(values.map(String));
}
