import { Exchange } from '../../files/exchange.ts';
import { type FileSession, filePrefix, type StoredFiles } from '../../files/file-session.ts';
import { storeFiles } from '../../files/store-files.ts';
import type { Preparation } from '../target.ts';
import { openFiles } from './open-files.ts';
import { sluiceAddress } from './sluice-address.ts';

/** Milliseconds for a removal. */
const removalTimeout = 600_000;
/** Most names of one removal. */
const namesOfRemoval = 200;

/** Stores the files that downloads of a mix choose from. */
export async function prepareFiles(work: Preparation): Promise<StoredFiles> {
  const session = openFiles(sluiceAddress(work.address), work.mix.seed);
  try {
    return await storeFiles(session, work);
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
    const exchange = new Exchange(session, AbortSignal.any([signal, AbortSignal.timeout(removalTimeout)]));
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
