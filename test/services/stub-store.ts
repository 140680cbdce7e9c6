import type { Test } from 'tap';
import type { ObjectStore } from '#objects/object-store.ts';
import type { S3StoreOptions } from '#objects/s3/s3-options.ts';
import { createS3Store } from '#objects/s3/s3-store.ts';
import { type S3Stub, type S3StubOptions, startS3Stub } from './s3-stub/start-s3-stub.ts';
import { silentLog } from './silent-log.ts';

/** Small, so that objects of several parts are cheap. Bytes. */
export const stubPartBytes = 64 * 1024;

/** Milliseconds: pauses that don't hold up a test, and deadlines that only what hangs can miss. */
const timing = {
  request: 30_000,
  quiet: 5_000,
  connect: 5_000,
  settle: 200,
  cleanup: 30_000,
  firstPause: 1,
  longestPause: 10,
};

export interface StubStore {
  readonly stub: S3Stub;
  readonly store: ObjectStore;
  readonly log: ReturnType<typeof silentLog>;
}

/** An S3 store over a stub of its own, both closed with the test. */
export async function openStubStore(
  t: Test,
  {
    stub: stubOptions = {},
    timing: changes = {},
    ...options
  }: Partial<Omit<S3StoreOptions, 'log'>> & { readonly stub?: S3StubOptions } = {},
): Promise<StubStore> {
  const stub = await startS3Stub({ minPartBytes: stubPartBytes, ...stubOptions });
  t.teardown(() => stub.close());
  const log = silentLog();
  const store = storeOn(t, stub, { ...options, timing: { ...timing, ...changes }, log });
  return { stub, store, log };
}

/** A store on a stub that runs. */
export function storeOn(
  t: Test,
  stub: S3Stub,
  options: Partial<S3StoreOptions> & Pick<S3StoreOptions, 'log'>,
): ObjectStore {
  const store = createS3Store({
    bucket: stub.bucket,
    endpoint: stub.endpoint,
    region: stub.region,
    credentials: { accessKeyId: stub.accessKeyId, secretAccessKey: stub.secretAccessKey },
    forcePathStyle: true,
    partBytes: stubPartBytes,
    maxObjectBytes: 1024 ** 3,
    ...options,
  });
  t.teardown(() => store.close());
  return store;
}
