/** Uploads that can go on, on a real S3 server: in parts that are joined, and with a length that comes last. */
import { crc32 } from 'node:zlib';
import t from 'tap';
import { Upload, type UploadOptions } from 'tus-js-client';
import { collect, patternBytes } from '../integration/object-store-contract.ts';
import { openTestedStore } from '../services/tested-s3.ts';
import { serveTus } from '../services/tus-gateway.ts';

const never = new AbortController().signal;
const leastPart = 5 * 1024 ** 2;
const store = openTestedStore({ partBytes: leastPart });
t.teardown(() => store.close());

t.test('partial uploads, a length that comes last, and clients that send so', async (t) => {
  const { begin, patch, rows, left, baseUrl, ask } = await serveTus(t, store, {
    maxUploadBytes: 100_000_000,
  });
  const all = patternBytes(18_000_000);
  const paths: string[] = [];
  let at = 0;
  for (const size of [6_000_000, 1, 0, leastPart, 11_999_999 - leastPart]) {
    const { path } = await begin(size, { 'upload-concat': 'partial' });
    const half = Math.floor(size / 2);
    if (half > 0) t.equal((await patch(path, 0, all.subarray(at, at + half))).status, 204);
    if (size > 0) t.equal((await patch(path, half, all.subarray(at + half, at + size))).status, 204);
    at += size;
    paths.push(path);
  }
  t.equal(at, all.byteLength);
  const headers = { 'upload-concat': `final;${paths.join(' ')}` };
  t.equal((await ask('/_f_/demo/resumable', { method: 'POST', headers })).status, 201);
  for (const size of [leastPart, 6_000_000]) {
    const { path } = await begin(null);
    t.equal((await patch(path, 0, all.subarray(0, size))).status, 204);
    t.equal((await patch(path, size, new Uint8Array(), { 'upload-length': `${size}` })).status, 204);
  }
  for (const options of [{ parallelUploads: 3 }, { protocol: 'ietf-draft-05' }])
    await new Promise<void>((resolve, reject) => {
      const way = { ...options, chunkSize: 6_000_000 } as Partial<UploadOptions>;
      const ends = { onError: reject, onSuccess: () => resolve() };
      new Upload(Buffer.from(all), { endpoint: `${baseUrl}/_f_/demo/resumable`, ...ends, ...way }).start();
    });
  t.equal(rows.size, 5);
  for (const { objectKey, size, crc32: sum } of rows.values()) {
    const bytes = all.subarray(0, size);
    t.equal(sum, crc32(bytes));
    t.ok((await collect(store.read(objectKey, null, never))).equals(bytes));
    await store.delete(objectKey, never);
  }
  t.strictSame(await left(), []);
});
