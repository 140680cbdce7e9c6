import { within } from '../http/within.ts';
import type { FileRequest } from '../mix/mix.ts';
import type { Preparation } from '../targets/target.ts';
import { inLanes } from '../verify/in-lanes.ts';
import { Exchange } from './exchange.ts';
import { type FileSession, type StoredFile, type StoredFiles, seedFile } from './file-session.ts';
import { type Upload, uploadToSluice } from './perform-file.ts';

/** Files of each size that downloads choose from: so many, or as many as have these bytes, but one. */
const mostFiles = 16;
const mostBytes = 64 * 1024 * 1024;
const uploadsAtOnce = 4;
/** Far from the numbers of requests, which are the indexes of other files. */
const firstIndex = 2 ** 44;
/** Milliseconds for a file. */
const uploadTimeout = 600_000;

/** Stores the files that downloads of a mix choose from. */
export async function storeFiles(
  session: FileSession,
  work: Preparation,
  upload: Upload = uploadToSluice,
): Promise<StoredFiles> {
  const { mix, signal, progress } = work;
  const downloads = mix.requests.filter((request): request is FileRequest => request.kind === 'download');
  if (downloads.length === 0) return {};
  const stored: Record<string, StoredFile[][]> = {};
  const jobs: (() => Promise<void>)[] = [];
  let index = firstIndex;
  for (const { name, by, sizes } of downloads) {
    stored[name] = sizes.map(({ bytes }) => {
      const files: StoredFile[] = [];
      const count = Math.max(1, Math.min(mostFiles, Math.floor(mostBytes / Math.max(bytes, 1))));
      for (let left = count; left > 0; left--) {
        const file = seedFile(mix.seed, index++, bytes);
        jobs.push(async () => {
          const path = await within(signal, uploadTimeout, (limit) =>
            upload(new Exchange(session, limit), file, by),
          );
          files.push({ ...file, path });
        });
      }
      return files;
    });
  }
  const count = jobs.length;
  try {
    await inLanes(jobs, uploadsAtOnce, (job) => job());
    // the same file for the same number
    for (const files of Object.values(stored).flat()) files.sort((one, other) => one.index - other.index);
    progress(`${count} files are stored`);
    return stored;
  } catch (error) {
    throw new Error(`files for downloads can't be stored: ${(error as Error).message}`, { cause: error });
  }
}
