import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { makeDurably } from '#kernel/durable-files/durable-directories.ts';

/** Creates DATA_DIR if it doesn't exist. Rejects with one sentence if this user can't create or use it. */
export async function prepareDataDirectory(path: string): Promise<void> {
  try {
    await makeDurably(path, 0o700);
  } catch (error) {
    throw refused(path, "can't be created", error);
  }
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw refused(path, `can't be read and written by user ${process.getuid?.()}`, error);
  }
}

function refused(path: string, what: string, cause: unknown): Error {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const reason = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in its place' : code;
  return new Error(
    `DATA_DIR ${path} ${what} (${reason}): set it to a directory of the user that runs the server`,
    { cause },
  );
}
