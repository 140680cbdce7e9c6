import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { FolderOf } from '../catalogue/folder-index.ts';

/**
 * Whether there is a folder for a sender: it has a file, and rules, if they bind the sender, let it read one. So a folder
 * of another user is like none.
 */
export async function isKnownFolder(
  cloudFiles: Pick<CloudFiles, 'ownerOfFolder' | 'list'>,
  folder: FolderOf,
  bound: BoundSender | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const owner = await cloudFiles.ownerOfFolder(folder.folder, signal);
  if (owner === null || !isOf(owner, folder)) return false;
  if (bound === undefined) return true;
  const query = { ...folder, condition: requiredFor(bound, 'read'), limit: 1 };
  return (await cloudFiles.list(query, signal)).length > 0;
}

/** Whether two names of folders mean the same project. */
export function isOf(one: FolderOf, other: Pick<FolderOf, 'ownerId' | 'projectSlug'>): boolean {
  return one.ownerId === other.ownerId && one.projectSlug === other.projectSlug;
}
