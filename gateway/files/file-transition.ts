import type { CloudFile } from '../catalogue/cloud-file.ts';

/** What a change of a file means to those who listen. */
export type FileTransition =
  | { readonly type: 'file.created'; readonly reason: 'uploaded' | 'restored' }
  | { readonly type: 'file.deleted'; readonly reason: 'deleted' | 'trashed' | 'expired' | 'refused' }
  | { readonly type: 'file.refused'; readonly signature: string };

/** Null: it was as visible before. @param before null: there was no file */
export function transitionOf(before: CloudFile | null, after: CloudFile): FileTransition | null {
  const wasShown = before !== null && isShown(before);
  if (wasShown === isShown(after)) return null;
  if (!wasShown) {
    const isBack = before?.trashedAt !== undefined || before?.state === 'refused';
    return { type: 'file.created', reason: isBack ? 'restored' : 'uploaded' };
  }
  const { trashedAt } = after;
  if (trashedAt === undefined) return { type: 'file.deleted', reason: 'refused' };
  return { type: 'file.deleted', reason: hasExpired(after, trashedAt.getTime()) ? 'expired' : 'trashed' };
}

/** The removal of a row. Null: its file was in the trash, or held back, and those who listen know no such file. */
export function deletionOf(file: CloudFile, now: number): FileTransition | null {
  if (!isShown(file)) return null;
  return { type: 'file.deleted', reason: hasExpired(file, now) ? 'expired' : 'deleted' };
}

/** Unlike `isPublished`, also for a file that has expired: nothing happens at that moment, but when it is removed. */
function isShown({ trashedAt, state }: CloudFile): boolean {
  return trashedAt === undefined && state === undefined;
}

function hasExpired({ expiresAt }: CloudFile, now: number): boolean {
  return expiresAt !== undefined && expiresAt.getTime() <= now;
}
