import { textLiteral } from '../clickhouse/literal.ts';
import { timestampText } from './row-values.ts';

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

/** What follows FROM in a SELECT of the files. */
export function fileListSql(table: string, query: FileQuery): string {
  const { ownerId, projectSlug, limit, after, name, type, from, to } = query;
  const conditions = [`owner_id = ${textLiteral(ownerId)}`, `project_slug = ${textLiteral(projectSlug)}`];
  if (from !== undefined) conditions.push(`created_at >= ${timeLiteral(from)}`);
  if (to !== undefined) conditions.push(`created_at <= ${timeLiteral(to)}`);
  if (after !== undefined) {
    const time = timeLiteral(after.createdAt);
    conditions.push(`(created_at < ${time} OR (created_at = ${time} AND id < ${textLiteral(after.id)}))`);
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
