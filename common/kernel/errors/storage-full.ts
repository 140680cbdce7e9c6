import { ApiError } from './api-error.ts';

/** Codes of system calls: the disk is full, or this user's quota of it. */
const systemCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);
/** The same in the engine's words: its own code, and Linux' numbers of the two above. */
const engineText = /\(NOT_ENOUGH_SPACE\)|errno: (?:28|122)\b/;

/** Whether something failed because a disk is full; that may be the cause of the thrown error. */
export function isStorageFull(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < 10 && error instanceof Error; depth++, error = error.cause) {
    if (error instanceof ApiError) {
      // a server of another machine has its own disk: not_ready
      if (error.status < 500 || error.code === 'not_ready') return false;
      if (error.code === 'storage_full') return true;
    } else if (systemCodes.has((error as NodeJS.ErrnoException).code) || engineText.test(error.message)) {
      return true;
    }
  }
  return false;
}
