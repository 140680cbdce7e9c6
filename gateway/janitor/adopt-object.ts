import type { CloudFile, CloudFiles } from '../../common/control/cloud-files.ts';
import type { ObjectStore } from '../../common/object-store/object-store.ts';
import { readObjectMetadata } from '../object-metadata.ts';

/**
 * Puts right an object that has no row: it gets the row that its metadata tells of, or is removed when they tell of
 * none that could be its own.
 */
export async function adoptObject(
  {
    store,
    cloudFiles,
  }: { store: Pick<ObjectStore, 'head' | 'delete'>; cloudFiles: Pick<CloudFiles, 'insert'> },
  key: string,
  { dryRun, signal }: { dryRun: boolean; signal: AbortSignal },
): Promise<'row made' | 'object removed' | 'nothing there'> {
  const stored = await store.head(key, signal);
  if (stored === null) return 'nothing there';
  const known = readObjectMetadata(stored.metadata);
  const name = nameOf(key);
  if (known === null || key !== `${known.ownerId}/${known.projectSlug}/${name}`) {
    if (!dryRun) await store.delete(key, signal);
    return 'object removed';
  }
  const file: CloudFile = {
    ...known,
    name,
    objectKey: key,
    contentType: stored.contentType,
    size: stored.size,
    // it was not kept beside the object; the bytes are not read for it
    crc32: 0,
    createdAt: stored.lastModified,
    updatedAt: stored.lastModified,
  };
  if (!dryRun) await cloudFiles.insert(file, signal);
  return 'row made';
}

/** The last segment of a key. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
