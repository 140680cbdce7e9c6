import { setTimeout as sleep } from 'node:timers/promises';
import { LockRefused, type Locks } from '#coordination/redis/process-lock.ts';
import { fileExists, overloaded, unavailable } from '#kernel/errors/catalogue.ts';
import { hashOfTexts } from '#kernel/ids/key-lifetime.ts';
import type { CloudFile } from './cloud-file.ts';
import type { CloudFiles, InsertOptions, MayTake } from './cloud-files.ts';
import { placeOfFile } from './folder-index.ts';

/** The lock of a path is a lease, which expires if its gateway dies. Milliseconds. */
const lockTimes = { lease: 10_000, renewEvery: 3_000 };
/** How long an insert waits for another one at its path, and how often it looks. Milliseconds. */
const patience = 10_000;
const pollEvery = 25;

/**
 * Wraps `insert`, so that a path of a folder gets one file only, however the file was uploaded. Gateways that share
 * their stores without Redis keep only their own requests apart: then the newest row is the file.
 */
export function oneFilePerPath<Files extends CloudFiles>(files: Files, locks: Locks): Files {
  const insert = files.insert.bind(files);
  return Object.assign(files, {
    insert(file: CloudFile, signal: AbortSignal, options: InsertOptions = {}): Promise<void> {
      const place = placeOfFile(file);
      if (place === null) return insert(file, signal, options);
      const { mayTake = assertFree } = options;
      const hash = hashOfTexts(place.folder, place.path);
      const work = async (lost: AbortSignal): Promise<void> => {
        const there = await files.currentInFolder(place, signal);
        // a completion that is repeated inserts the same file
        if (there?.name !== file.name) await mayTake(there);
        if (lost.aborted) throw overloaded('another request may store a file at this path');
        await insert(file, signal, options);
      };
      return holdPatiently(locks, `path:${hash}`, work, signal);
    },
  });
}

/** Throws 409 if there is a file. */
export const assertFree: MayTake = async (there) => {
  if (there !== null) throw fileExists();
};

async function holdPatiently(
  locks: Locks,
  name: string,
  work: (lost: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const lock = locks(name, lockTimes);
  for (const until = performance.now() + patience; ; ) {
    try {
      return await lock.hold(work);
    } catch (error) {
      if (!(error instanceof LockRefused)) throw error;
      if (error.reason === 'unknown')
        throw unavailable('Files of folders cannot be stored at the moment', error);
      if (performance.now() > until) throw overloaded('other requests store a file at this path');
      await sleep(pollEvery, undefined, { signal });
    }
  }
}
