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

/** Values of the columns that the first version did not have. */
const laterDefaults = ['', '', '', '', '', 0, 0, '', 0, 0, 0] as const;
const oldestColumns = fileColumns.length - laterDefaults.length;

/** A file as rows for the tables. */
export interface FileRow {
  readonly name: string;
  /** JSONCompactEachRow, with its line break. */
  readonly line: Uint8Array;
  /** The same for file_list. */
  readonly listed: Uint8Array;
}

export function fileRow(file: CloudFile): FileRow {
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
    timestampText(file.createdAt),
    timestampText(file.updatedAt),
    file.sha256 ?? '',
    file.owner ?? '',
    file.verified ?? '',
    file.folder ?? '',
    file.path ?? '',
    file.expiresAt?.getTime() ?? 0,
    file.trashedAt?.getTime() ?? 0,
    file.state ?? '',
    file.width ?? 0,
    file.height ?? 0,
    file.duration ?? 0,
  ];
  return { name: file.name, line: rowLine(values), listed: listedLine(values) };
}

/** Parses a line that `fileRow` wrote. */
export function fileRowOfLine(line: Uint8Array): FileRow {
  const values = JSON.parse(Buffer.from(line).toString('utf8')) as (string | number)[];
  const name = values[fileColumns.indexOf('name')];
  // written by a version without them
  if (values.length >= oldestColumns) values.push(...laterDefaults.slice(values.length - oldestColumns));
  if (values.length !== fileColumns.length || typeof name !== 'string') {
    throw new Error('the write-ahead log of files has a row of an unknown format');
  }
  return { name, line: rowLine(values), listed: listedLine(values) };
}

function listedLine(values: readonly (string | number)[]): Uint8Array {
  return rowLine(fileListColumns.map((column) => values[fileColumns.indexOf(column)] ?? null));
}
