import { randomUUID } from 'node:crypto';
import { StoreUnavailable } from '../common/errors/store-unavailable.ts';
import type { Log } from '../common/log/log.ts';
import type { ObjectStore } from '../common/object-store/object-store.ts';

/** Time limit of the whole check: longer than the store's own attempts. Milliseconds. */
const checkTimeout = 60_000;

/**
 * Says at the start what is wrong with the object store. The process serves nevertheless: /readyz keeps requests away
 * until the store recovers.
 * @param publicUrl an object's own address, where s3Links are such addresses; null elsewhere
 */
export async function checkStore(
  store: Pick<ObjectStore, 'ready' | 'create' | 'delete'>,
  publicUrl: ((key: string) => string) | null,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const signal = AbortSignal.timeout(checkTimeout);
  try {
    await store.ready(signal);
    if (publicUrl !== null) await checkPublic(store, publicUrl, { log, signal });
  } catch (err) {
    // the store itself has said what its operator has to fix
    if (!(err instanceof StoreUnavailable && err.problem !== undefined))
      log.warn({ err }, 'the object store fails a first check');
  }
}

/** Checks with an empty object of its own: a server that shows strangers no list answers 403 for a missing object. */
async function checkPublic(
  store: Pick<ObjectStore, 'create' | 'delete'>,
  publicUrl: (key: string) => string,
  { log, signal }: { readonly log: Pick<Log, 'warn'>; readonly signal: AbortSignal },
): Promise<void> {
  const key = `public-check/${randomUUID()}`;
  const writer = await store.create(key, { contentType: 'text/plain', metadata: {} }, signal);
  await writer.complete({ chunks: [], size: 0, crc32: 0 });
  const { status } = await fetch(publicUrl(key), { method: 'HEAD', signal }).finally(() =>
    store.delete(key, signal),
  );
  if (status === 401 || status === 403) {
    log.warn({ status }, 'S3_PUBLIC_BUCKET is true, but the bucket is private: no s3Link can be read');
  }
}
