import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { FolderOf } from '../catalogue/folder-index.ts';

/**
 * Whether there is a folder for a sender: it has a file, and rules, if they bind the sender, let it read one. So a folder
 * of another user is like none.
 */
export async function isKnownFolder(
  cloudFiles: Pick<CloudFiles, 'hasFolder' | 'list'>,
  folder: FolderOf,
  bound: BoundSender | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await cloudFiles.hasFolder(folder, signal))) return false;
  if (bound === undefined) return true;
  const query = { ...folder, condition: requiredFor(bound, 'read'), limit: 1 };
  return (await cloudFiles.list(query, signal)).length > 0;
}
