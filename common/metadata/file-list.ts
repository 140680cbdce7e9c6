import type { Database } from '../clickhouse/database.ts';
import { textLiteral } from '../clickhouse/literal.ts';
import type { CloudFile } from './cloud-files.ts';
import { timestampText } from './row-values.ts';

/** Columns of file_list, in the order of a row's values. */
export const fileListColumns = [
  'owner_id',
  'project_slug',
  'created_at',
  'id',
  'name',
  'original_name',
  'content_type',
] as const;

/** Which files of a project somebody wants to see, newest first. */
export interface FileQuery {
  readonly ownerId: string;
  readonly projectSlug: string;
  readonly limit: number;
  /** The last file of the page before. */
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  /** Part of the original name, in whatever case. */
  readonly name?: string | undefined;
  /** A media type, or the beginning of one up to its slash. */
  readonly type?: string | undefined;
  /** The first and the last moment at which they were made. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

interface Entry {
  readonly name: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/**
 * A page of files by `table`, which knows their order (migrations/file-list-table.ts). It may have files that are not
 * stored, because a process ended before their upload or their removal did: those are left out, and others take their
 * places, so that a page is short at the end alone.
 * @param args.filesOf answers those of the names that are stored
 */
export async function listFiles(
  args: {
    readonly db: Database;
    readonly table: string;
    readonly home: string;
    readonly filesOf: (names: readonly string[]) => Promise<ReadonlyMap<string, CloudFile>>;
  },
  query: FileQuery,
  signal: AbortSignal,
): Promise<readonly CloudFile[]> {
  const { db, table, home, filesOf } = args;
  const { ownerId: account, limit } = query;
  const page = new Map<string, CloudFile>();
  for (let { after } = query; page.size < limit; ) {
    const sql = `SELECT name, id, toFloat64(toUnixTimestamp64Milli(created_at)) AS created
      FROM ${fileListSql(table, { ...query, after })}`;
    const entries = await db.rows<Entry>({ sql, signal, home, account });
    const stored = await filesOf(entries.map(({ name }) => name));
    for (const { name } of entries) {
      const file = stored.get(name);
      if (file !== undefined && page.size < limit) page.set(name, file);
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) break;
    after = { createdAt: new Date(last.created), id: last.id };
  }
  return [...page.values()];
}

/** What follows FROM in a SELECT of entries. */
function fileListSql(table: string, query: FileQuery): string {
  const { ownerId, projectSlug, limit, after, name, type, from, to } = query;
  const conditions = [`owner_id = ${textLiteral(ownerId)}`, `project_slug = ${textLiteral(projectSlug)}`];
  if (from !== undefined) conditions.push(`created_at >= ${timeLiteral(from)}`);
  if (to !== undefined) conditions.push(`created_at <= ${timeLiteral(to)}`);
  if (after !== undefined) {
    const time = timeLiteral(after.createdAt);
    // the first of the two is what the primary key can use
    conditions.push(`created_at <= ${time} AND (created_at < ${time} OR id < ${textLiteral(after.id)})`);
  }
  if (type !== undefined) {
    const text = textLiteral(type);
    conditions.push(type.endsWith('/') ? `startsWith(content_type, ${text})` : `content_type = ${text}`);
  }
  if (name !== undefined) {
    conditions.push(`positionCaseInsensitiveUTF8(original_name, ${textLiteral(name)}) > 0`);
  }
  return `${table} WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
}

export function timeLiteral(time: Date): string {
  return `toDateTime64(${textLiteral(timestampText(time))}, 3, 'UTC')`;
}
