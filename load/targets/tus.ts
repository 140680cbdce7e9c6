import { download } from '../files/download.ts';
import { Exchange } from '../files/exchange.ts';
import { type StoredFiles, seedFile } from '../files/file-session.ts';
import { sendTus, usualChunk } from '../files/upload-tus.ts';
import { within } from '../http/within.ts';
import { verifyStored } from '../verify/verify-stored.ts';
import { onlyFiles } from './only-files.ts';
import { OtherFiles, withFiles } from './other-files.ts';
import { performerOf } from './performer-of.ts';
import type { Preparation, TargetAddress, TargetKind } from './target.ts';

interface Prepared {
  /** Whether the address of an upload serves its bytes, which tus does not ask of a server. */
  readonly readable: boolean;
  readonly files: StoredFiles;
}

const trial = { index: 2 ** 44 - 1, bytes: 1000 };
/** Milliseconds for the trial. */
const trialTimeout = 30_000;

/**
 * Any tus server (https://tus.io/protocols/resumable-upload): the address is that of its endpoint. A credential is sent as a
 * bearer token; the option `chunk` says how many bytes a PATCH has.
 */
export const tus: TargetKind = {
  options: ['chunk'],
  ...onlyFiles('tus'),
  prepare: (work) =>
    withFiles(filesOf(work), async (files): Promise<Prepared> => {
      const readable = await isReadable(files, work);
      if (!readable && work.mix.requests.some(({ kind }) => kind === 'download'))
        throw new Error(
          'the server does not serve uploads at their addresses: the mix can have no downloads',
        );
      return { readable, files: await files.store(work) };
    }),
  open(session) {
    const { readable, files } = session.prepared as Prepared;
    const open = filesOf(session, files);
    return performerOf(
      (request) => {
        const perform = open.performerOf(request);
        if (readable) return perform;
        return async (number, signal) => {
          const { stored: _, ...outcome } = await perform(number, signal);
          return outcome;
        };
      },
      () => open.close(),
    );
  },
  verify(work) {
    if (!(work.prepared as Prepared).readable)
      work.progress('nothing is verified: the server does not serve uploads at their addresses');
    return withFiles(filesOf(work), (files) => verifyStored(work, files.session, null));
  },
  // it has no list of what was uploaded
  cleanUp: async ({ progress }) =>
    progress('a tus server has no list of files: uploads stay until they expire'),
};

function isReadable({ session, upload }: OtherFiles, { mix, signal }: Preparation): Promise<boolean> {
  return within(signal, trialTimeout, async (limit) => {
    const file = seedFile(mix.seed, trial.index, trial.bytes);
    const path = await upload(new Exchange(session, limit), file, 'tus');
    try {
      return (await download(new Exchange(session, limit), { ...trial, path })) === null;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  });
}

function filesOf(work: Pick<Preparation, 'mix' | 'address'>, files: StoredFiles = {}): OtherFiles {
  const { address } = work;
  const upload = { endpoint: new URL(address.url).pathname, chunkBytes: chunkOf(address), lastFields: '' };
  return new OtherFiles({
    seed: work.mix.seed,
    address: work.address,
    files,
    token: address.credential,
    upload: async (exchange, file) => (await sendTus(exchange, file, upload)).location,
  });
}

/** Throws a sentence for an option that is wrong. */
function chunkOf({ options }: TargetAddress): number {
  const { chunk = `${usualChunk}` } = options;
  const bytes = Number(chunk);
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw new Error(`--option chunk=${chunk} must be a number of bytes`);
  return bytes;
}
