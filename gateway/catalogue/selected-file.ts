import type { CloudFile, HiddenState, Verified } from './cloud-file.ts';

/**
 * What a SELECT on cloud_files reads for a `SelectedFile`. Doubles hold every size and time exactly up to 2^53; 64-bit
 * integers would depend on output settings.
 */
export const selection = `id, name, original_name, owner_id, project_slug, object_key, content_type, sha256, owner, verified,
  folder, path, state, width, height, duration,
  toFloat64(expires_at) AS expires, toFloat64(trashed_at) AS trashed,
  toFloat64(size) AS bytes, crc32,
  toFloat64(toUnixTimestamp64Milli(created_at)) AS created, toFloat64(toUnixTimestamp64Milli(updated_at)) AS updated`;

/** A row of cloud_files, as `selection` reads it. */
export interface SelectedFile {
  id: string;
  name: string;
  original_name: string;
  owner_id: string;
  project_slug: string;
  object_key: string;
  content_type: string;
  sha256: string;
  owner: string;
  verified: Verified | '';
  folder: string;
  path: string;
  state: HiddenState | '';
  width: number;
  height: number;
  duration: number;
  expires: number;
  trashed: number;
  bytes: number;
  crc32: number;
  created: number;
  updated: number;
}

/** The file of a row: what it does not have is left out. */
export function fileOf(row: SelectedFile): CloudFile {
  return {
    id: row.id,
    name: row.name,
    originalName: row.original_name,
    ownerId: row.owner_id,
    projectSlug: row.project_slug,
    objectKey: row.object_key,
    contentType: row.content_type,
    size: row.bytes,
    crc32: row.crc32,
    ...(row.sha256 === '' ? {} : { sha256: row.sha256 }),
    ...(row.owner === '' ? {} : { owner: row.owner }),
    ...(row.verified === '' ? {} : { verified: row.verified }),
    ...mediaOf(row),
    createdAt: new Date(row.created),
    updatedAt: new Date(row.updated),
  };
}

function mediaOf(row: SelectedFile): Partial<CloudFile> {
  const { folder, path, state, width, height, duration, expires, trashed } = row;
  return {
    ...(folder === '' ? {} : { folder, path }),
    ...(state === '' ? {} : { state }),
    ...(width === 0 ? {} : { width, height }),
    ...(duration === 0 ? {} : { duration }),
    ...(expires === 0 ? {} : { expiresAt: new Date(expires) }),
    ...(trashed === 0 ? {} : { trashedAt: new Date(trashed) }),
  };
}
