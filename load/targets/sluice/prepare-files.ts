import { Exchange } from '../../files/exchange.ts';
import {
  type FileSession,
  filePrefix,
  type StoredFile,
  type StoredFiles,
  seedFile,
} from '../../files/file-session.ts';
import { upload } from '../../files/perform-file.ts';
import type { FileRequest } from '../../mix/mix.ts';
import { inLanes } from '../../verify/in-lanes.ts';
import type { Preparation } from '../target.ts';
import { openFiles } from './open-files.ts';
import { sluiceAddress } from './sluice-address.ts';

/** Files of each size that downloads choose from: so many, or as many as have these bytes, but one. */
const mostFiles = 16;
const mostBytes = 64 * 1024 * 1024;
const uploadsAtOnce = 4;
/** Far from the numbers of requests, which are the indexes of other files. */
const firstIndex = 2 ** 44;
/** Milliseconds for a file. */
const uploadTimeout = 600_000;
/** Most names of one removal. */
const namesOfRemoval = 200;

/** Stores the files that downloads of a mix choose from. */
export async function prepareFiles(work: Preparation): Promise<StoredFiles> {
  const { mix, address, signal, progress } = work;
  const downloads = mix.requests.filter((request): request is FileRequest => request.kind === 'download');
  if (downloads.length === 0) return {};
  const session = openFiles(sluiceAddress(address), mix.seed);
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
          const exchange = new Exchange(
            session,
            AbortSignal.any([signal, AbortSignal.timeout(uploadTimeout)]),
          );
          files.push({ ...file, path: await upload(exchange, by, file) });
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
  } finally {
    session.close();
  }
}

interface FilesPage {
  readonly files: readonly { readonly name: string; readonly originalName: string }[];
  readonly next: string | null;
}

/** Removes the files that runs have stored, by their names. */
export async function removeFiles({ address, mix, signal }: Preparation): Promise<void> {
  if (!mix.requests.some(({ kind }) => kind === 'upload' || kind === 'download')) return;
  const session = openFiles(sluiceAddress(address), mix.seed);
  try {
    await removeAll(session, signal);
  } finally {
    session.close();
  }
}

async function removeAll(session: FileSession, signal: AbortSignal): Promise<void> {
  const ask = `limit=${namesOfRemoval}&name=${filePrefix}`;
  for (let after: string | null = ''; after !== null; ) {
    const exchange = new Exchange(session, AbortSignal.any([signal, AbortSignal.timeout(uploadTimeout)]));
    const page: FilesPage = await exchange.ask(
      200,
      `GET ${session.base}?${ask}${after && `&after=${encodeURIComponent(after)}`}`,
    );
    // the filter finds names that have it anywhere
    const names = page.files
      .filter(({ originalName }) => originalName.startsWith(filePrefix))
      .map(({ name }) => name);
    if (names.length > 0) await exchange.ask(200, `POST ${session.base}/_delete_`, { names });
    after = page.next;
  }
}
