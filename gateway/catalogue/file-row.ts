import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import type { CloudFile } from './cloud-file.ts';
import { fileListColumns } from './file-list.ts';

/** Columns of cloud_files, in the order of a row's values. */
export const fileColumns = [
  'id',
  'name',
  'original_name',
  'owner_id',
  'project_slug',
  'object_key',
  'content_type',
  'size',
  'crc32',
  'created_at',
  'updated_at',
  'sha256',
  'owner',
  'verified',
  'folder',
  'path',
  'expires_at',
  'trashed_at',
  'state',
  'width',
  'height',
  'duration',
] as const;

type Value = string | number;

/** Values of the columns that the first version did not have. */
const laterDefaults: readonly Value[] = ['', '', '', '', '', 0, 0, '', 0, 0, 0];
const oldestColumns = fileColumns.length - laterDefaults.length;
/** Most files have the defaults of the columns after these, and rows that end before them. */
const usualColumns = fileColumns.indexOf('folder');
const moreDefaults = laterDefaults.slice(usualColumns - oldestColumns);

/** Where a row has the values of file_list. */
const listed = fileListColumns.map((column) => fileColumns.indexOf(column));

/** A file as a row for the tables. */
export interface FileRow {
  readonly name: string;
  /** Of all columns, or of the usual ones. */
  readonly values: readonly Value[];
  /** The values as JSONCompactEachRow, with its line break. */
  readonly line: Uint8Array;
}

/** Rows of a table, as an INSERT takes them. */
export interface TableRows {
  readonly columns: readonly string[];
  readonly lines: Uint8Array;
}

export function fileRow(file: CloudFile): FileRow {
  const { createdAt, updatedAt } = file;
  const created = timestampText(createdAt);
  const values = [
    file.id,
    file.name,
    file.originalName,
    file.ownerId,
    file.projectSlug,
    file.objectKey,
    file.contentType,
    file.size,
    file.crc32,
    created,
    updatedAt === createdAt ? created : timestampText(updatedAt),
    file.sha256 ?? '',
    file.owner ?? '',
    file.verified ?? '',
  ];
  if (hasMore(file))
    values.push(
      file.folder ?? '',
      file.path ?? '',
      file.expiresAt?.getTime() ?? 0,
      file.trashedAt?.getTime() ?? 0,
      file.state ?? '',
      file.width ?? 0,
      file.height ?? 0,
      file.duration ?? 0,
    );
  return { name: file.name, values, line: rowLine(values) };
}

/** Parses a line of `fileRow`, of this version or of one with fewer columns. */
export function fileRowOfLine(line: Uint8Array): FileRow {
  const values = JSON.parse(Buffer.from(line).toString('utf8')) as Value[];
  const name = values[fileColumns.indexOf('name')];
  const wanted = values.length <= usualColumns ? usualColumns : fileColumns.length;
  if (values.length >= oldestColumns)
    values.push(...laterDefaults.slice(values.length - oldestColumns, wanted - oldestColumns));
  if (values.length !== wanted || typeof name !== 'string')
    throw new Error('the write-ahead log of files has a row of an unknown format');
  return { name, values, line: rowLine(values) };
}

/**
 * Rows of both tables, for one INSERT each.
 * @param isWhole whether they have all columns; absent: only if one of them needs more than the usual ones
 */
export function tableRows(
  rows: readonly FileRow[],
  isWhole = rows.some(({ values }) => values.length > usualColumns),
): { readonly files: TableRows; readonly list: TableRows } {
  const count = isWhole ? fileColumns.length : usualColumns;
  const listedAt = listed.filter((at) => at < count);
  const whole = (values: readonly Value[]) => (values.length < count ? [...values, ...moreDefaults] : values);
  const lines = rows.map(({ values, line }) => (values.length < count ? rowLine(whole(values)) : line));
  const ofList = rows.map(({ values }) => {
    const all = whole(values);
    return `${JSON.stringify(listedAt.map((at) => all[at]))}\n`;
  });
  return {
    files: { columns: fileColumns.slice(0, count), lines: Buffer.concat(lines) },
    list: { columns: listedAt.map((at) => fileColumns[at] as string), lines: Buffer.from(ofList.join('')) },
  };
}

/** Whether a file has more than the usual values. */
function hasMore(file: CloudFile): boolean {
  const { folder, path, expiresAt, trashedAt, state, width, height, duration } = file;
  return (folder ?? path ?? expiresAt ?? trashedAt ?? state ?? width ?? height ?? duration) !== undefined;
}
