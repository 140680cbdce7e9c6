import type { FileCondition } from '#catalogue/file-rules/file-rules.ts';
import { conditionSql } from '#catalogue/file-rules/file-sql.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { type CloudFile, type HiddenState, isPublished, isThere } from './cloud-file.ts';

/** Columns of file_list, in the order of a row's values. */
export const fileListColumns = [
  'owner_id',
  'project_slug',
  'created_at',
  'id',
  'name',
  'original_name',
  'content_type',
  'owner',
  'folder',
  'expires_at',
  'trashed_at',
  'state',
] as const;

/** A query for files of a project, newest first by default. */
export interface FileQuery {
  readonly ownerId: string;
  readonly projectSlug: string;
  readonly limit: number;
  /** Sort by the original name in lower case instead of by time. */
  readonly byName?: boolean | undefined;
  readonly ascending?: boolean | undefined;
  /** The last file of the page before. */
  readonly after?: FileCursor | undefined;
  /** Part of the original name; letter case is ignored. */
  readonly name?: string | undefined;
  /** A media type, or the beginning of one up to its slash. */
  readonly type?: string | undefined;
  /** Created at or after, and at or before. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** By rules, without variables. */
  readonly condition?: FileCondition | undefined;
  readonly folder?: string | undefined;
  /** Files that are not shown otherwise, instead of the others. */
  readonly hidden?: 'trashed' | HiddenState | undefined;
}

export interface FileCursor {
  readonly createdAt: Date;
  readonly id: string;
  readonly originalName: string;
}

/** The list, and the table of the files themselves. */
interface ListTables {
  readonly db: Database;
  readonly table: string;
  readonly files: string;
  readonly home: string;
}

interface ListedFile {
  readonly name: string;
  readonly originalName: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/**
 * A page of files, in the order of `table` (migrations/file-tables.ts). The table may list files that are not stored,
 * if a process ended during their upload or removal. These are skipped, and the page is filled with the next files:
 * only the last page is short.
 * @param args.filesOf finds the stored files among the names
 */
export async function listFiles(
  args: ListTables & {
    readonly filesOf: (names: readonly string[]) => Promise<ReadonlyMap<string, CloudFile>>;
  },
  query: FileQuery,
  signal: AbortSignal,
): Promise<readonly CloudFile[]> {
  const { db, table, home, filesOf, files } = args;
  const { ownerId: account, limit } = query;
  const page = new Map<string, CloudFile>();
  for (let { after } = query; page.size < limit; ) {
    const order = orderSql(query, after);
    const sql = `SELECT name, id, original_name AS originalName,
      toFloat64(toUnixTimestamp64Milli(created_at)) AS created
      FROM ${table} WHERE ${[...conditionsSql(query, { table, files }), ...order.conditions].join(' AND ')}
      ORDER BY ${order.by} LIMIT ${limit}`;
    const entries = await db.rows<ListedFile>({ sql, signal, home, account });
    const stored = await filesOf(entries.map(({ name }) => name));
    for (const { name } of entries) {
      const file = stored.get(name);
      if (file !== undefined && isWanted(file, query) && page.size < limit) page.set(name, file);
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) break;
    after = { createdAt: new Date(last.created), id: last.id, originalName: last.originalName };
  }
  return [...page.values()];
}

/** Number of matching files on all pages; may include a few that are not stored. */
export async function countFiles(
  { db, table, home, files }: ListTables,
  query: FileQuery,
  signal: AbortSignal,
): Promise<number> {
  const sql = `SELECT toFloat64(uniqExact(id)) AS files FROM ${table}
    WHERE ${conditionsSql(query, { table, files }).join(' AND ')}`;
  const [row] = await db.rows<{ files: number }>({ sql, signal, home, account: query.ownerId });
  return row?.files ?? 0;
}

/** The ORDER BY, and the conditions for files after the cursor. */
function orderSql(
  { byName = false, ascending = false }: FileQuery,
  after: FileCursor | undefined,
): { readonly by: string; readonly conditions: readonly string[] } {
  const direction = ascending ? 'ASC' : 'DESC';
  const sign = ascending ? '>' : '<';
  const by = (key: string): string => `${key} ${direction}, id ${direction}`;
  if (byName) {
    const key = 'lowerUTF8(original_name)';
    const last = after && `(lowerUTF8(${textLiteral(after.originalName)}), ${textLiteral(after.id)})`;
    return { by: by(key), conditions: last === undefined ? [] : [`(${key}, id) ${sign} ${last}`] };
  }
  if (after === undefined) return { by: by('created_at'), conditions: [] };
  const time = timeLiteral(after.createdAt);
  // the primary key can only use the first condition
  const conditions = [
    `created_at ${sign}= ${time}`,
    `(created_at ${sign} ${time} OR id ${sign} ${textLiteral(after.id)})`,
  ];
  return { by: by('created_at'), conditions };
}

function conditionsSql(
  { ownerId, projectSlug, name, type, from, to, condition, folder, hidden }: FileQuery,
  { table, files }: Pick<ListTables, 'table' | 'files'>,
): string[] {
  const ofProject = [`owner_id = ${textLiteral(ownerId)}`, `project_slug = ${textLiteral(projectSlug)}`];
  const conditions = [...ofProject];
  if (condition !== undefined) {
    // only the files themselves have sizes
    const names = `SELECT name FROM ${table} WHERE ${ofProject.join(' AND ')}`;
    const sizeSql = (comparison: string): string =>
      `name IN (SELECT name FROM ${files} WHERE name IN (${names}) AND ${comparison})`;
    conditions.push(`(${conditionSql(condition, sizeSql)})`);
  }
  conditions.push(hidden === undefined ? hiddenSql(hidden) : hiddenRowsSql(ofProject, files, hidden));
  if (folder !== undefined) conditions.push(`folder = ${textLiteral(folder)}`);
  if (from !== undefined) conditions.push(`created_at >= ${timeLiteral(from)}`);
  if (to !== undefined) conditions.push(`created_at <= ${timeLiteral(to)}`);
  if (type !== undefined) {
    const text = textLiteral(type);
    conditions.push(type.endsWith('/') ? `startsWith(content_type, ${text})` : `content_type = ${text}`);
  }
  if (name !== undefined) {
    conditions.push(`positionCaseInsensitiveUTF8(original_name, ${textLiteral(name)}) > 0`);
  }
  return conditions;
}

/** The rows themselves are asked: the list may not know yet what a process that died has hidden. */
function hiddenRowsSql(ofProject: readonly string[], files: string, hidden: FileQuery['hidden']): string {
  return `name IN (SELECT name FROM ${files} WHERE ${[...ofProject, hiddenSql(hidden)].join(' AND ')})`;
}

/** The files that are shown, or those that are hidden for a reason. */
export function hiddenSql(hidden: FileQuery['hidden']): string {
  const there = `(expires_at = 0 OR expires_at > ${Date.now()})`;
  if (hidden === 'trashed') return `trashed_at > 0 AND ${there}`;
  const state = `trashed_at = 0 AND state = ${textLiteral(hidden ?? '')}`;
  return hidden === undefined ? `${state} AND ${there}` : state;
}

/** The row itself decides: a process that ends between two statements may leave the list as it was. */
function isWanted(file: CloudFile, { hidden }: FileQuery): boolean {
  if (hidden === undefined) return isPublished(file);
  if (hidden === 'trashed') return file.trashedAt !== undefined && isThere({ ...file, trashedAt: undefined });
  return file.state === hidden && file.trashedAt === undefined;
}

export function timeLiteral(time: Date): string {
  return `toDateTime64(${textLiteral(timestampText(time))}, 3, 'UTC')`;
}
