import { Exchange } from '../../files/exchange.ts';
import { type FileSession, filePrefix, type StoredFiles } from '../../files/file-session.ts';
import { storeFiles } from '../../files/store-files.ts';
import { within } from '../../http/within.ts';
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
  for (let after: string | null = ''; after !== null; ) {
    const page: string = after;
    after = await within(signal, removalTimeout, (limit) => removePage(new Exchange(session, limit), page));
  }
}

/** @returns where the next page begins */
async function removePage(exchange: Exchange, after: string): Promise<string | null> {
  const { base } = exchange.session;
  const query = `limit=${namesOfRemoval}&name=${filePrefix}${after && `&after=${encodeURIComponent(after)}`}`;
  const page: FilesPage = await exchange.ask(200, `GET ${base}?${query}`);
  // the filter finds names that have it anywhere
  const names = page.files
    .filter(({ originalName }) => originalName.startsWith(filePrefix))
    .map(({ name }) => name);
  // a trash would keep them
  if (names.length > 0) await exchange.ask(200, `POST ${base}/_delete_`, { names, trash: false });
  return page.next;
}
