import { download } from '../files/download.ts';
import { Exchange } from '../files/exchange.ts';
import { type FileSession, nameOf, type StoredFile } from '../files/file-session.ts';
import { Refusal } from '../files/refusal.ts';
import { within } from '../http/within.ts';
import { inLanes } from './in-lanes.ts';
import { persistent, Unanswered } from './persistent.ts';
import type { WrongList } from './wrong-list.ts';

const filesAtOnce = 4;
/** Milliseconds for a file, however large. */
const downloadTimeout = 600_000;

/** Downloads files that the server has acknowledged, and compares their bytes with those of the seed. May reject with an Unanswered. */
export async function verifyFiles(
  session: FileSession,
  files: readonly StoredFile[],
  { list, signal }: { readonly list: WrongList; readonly signal: AbortSignal },
): Promise<void> {
  const check = (file: StoredFile): Promise<string | null> =>
    within(signal, downloadTimeout, (limit) => download(new Exchange(session, limit), file));
  await inLanes(files, filesAtOnce, async (file) => {
    try {
      const problem = await persistent(() => check(file), signal);
      if (problem !== null) list.add(problem);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unanswered) throw error;
      list.add(`${nameOf(file)} ${lossOf(error)}`);
    }
    list.checked++;
    list.bytes += file.bytes;
  });
}

function lossOf(error: unknown): string {
  const isLost = error instanceof Refusal && (error.status === 404 || error.status === 410);
  return isLost ? `is lost: ${error.status} ${error.code}` : `can't be read: ${(error as Error).message}`;
}
