import { ApiError } from './api-error.ts';

/** errno codes: the disk is full, or this user's disk quota. */
const systemCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);
/** The same in messages of the engine: its own code, and the Linux numbers of the two codes above. */
const engineText = /\(NOT_ENOUGH_SPACE\)|errno: (?:28|122)\b/;

/** Whether an error, or its cause, says that a disk is full. */
export function isStorageFull(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < 10 && error instanceof Error; depth++, error = error.cause) {
    if (error instanceof ApiError) {
      // the disk of another machine's server: not_ready
      if (error.status < 500 || error.code === 'not_ready') return false;
      if (error.code === 'storage_full') return true;
    } else if (systemCodes.has((error as NodeJS.ErrnoException).code) || engineText.test(error.message)) {
      return true;
    }
  }
  return false;
}
