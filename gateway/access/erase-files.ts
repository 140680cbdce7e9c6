import { setMaxListeners } from 'node:events';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { Quota } from './storage-quota.ts';

export interface EraseDeps {
  readonly store: Pick<ObjectStore, 'deleteAll'>;
  readonly cloudFiles: Pick<CloudFiles, 'remove'>;
  readonly quota: Pick<Quota, 'freed'>;
}

/**
 * Deletes objects, then rows, as DELETE does. The plans of the files are closed before.
 * @returns the files that are gone, and those whose object the store did not delete, which keep their row
 */
export async function eraseFiles(
  { store, cloudFiles, quota }: EraseDeps,
  files: readonly CloudFile[],
  signal: AbortSignal,
): Promise<{ readonly gone: readonly CloudFile[]; readonly left: readonly CloudFile[] }> {
  const keys = files.map(({ objectKey }) => objectKey);
  const kept = new Set(keys.length === 0 ? [] : await store.deleteAll(keys, signal));
  const isLeft = ({ objectKey }: CloudFile): boolean => kept.has(objectKey);
  const gone = files.filter((file) => !isLeft(file));
  // each removal listens
  setMaxListeners(0, signal);
  await Promise.all(gone.map(({ name }) => cloudFiles.remove(name, signal)));
  for (const owner of new Set(gone.map(({ ownerId }) => ownerId))) quota.freed(owner);
  return { gone, left: files.filter(isLeft) };
}
