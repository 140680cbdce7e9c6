import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { emptyPart, partOf, storeObject, writeObject } from '../services/store-object.ts';
import { openStubStore, stubPartBytes } from '../services/stub-store.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { full, sized } from '../services/test-size.ts';
import { collect, objectStoreContract, patternBytes } from './object-store-contract.ts';
import { s3StoreCases } from './s3-store-cases.ts';

const never = new AbortController().signal;
const plain = { contentType: 'text/plain', metadata: { a: 'b' } };

t.test('contract', async (t) => {
  const { stub, store, log } = await openStubStore(t);
  await objectStoreContract(t, async () => store);
  t.strictSame(stub.openUploads(), []);
  t.strictSame(log.failures, []);
});

if (full) {
  t.test('contract with the smallest parts that S3 itself takes', async (t) => {
    const { store } = await openStubStore(t, {
      stub: { minPartBytes: 5 * 1024 ** 2 },
      partBytes: 5 * 1024 ** 2,
    });
    await objectStoreContract(t, async () => store);
  });
}

t.test('cases', async (t) => {
  const pageSize = 50;
  const { stub, store, log } = await openStubStore(t, { stub: { pageSize } });
  await s3StoreCases(t, store, pageSize);
  t.strictSame(stub.openUploads(), []);
  t.strictSame(stub.objects(), []);
  t.strictSame(log.failures, []);
});

t.test('no request is sent before it is needed', async (t) => {
  const { stub, store } = await openStubStore(t);
  const writer = await store.create('o/p/n', plain, never);
  t.strictSame(stub.counts(), {});
  await writer.abort();
  t.strictSame(stub.counts(), {});
});

t.test('an object of one part is one request', async (t) => {
  for (const size of [0, 1, stubPartBytes - 1, stubPartBytes]) {
    const { stub, store } = await openStubStore(t);
    const bytes = patternBytes(size);
    await storeObject(store, 'o/p/n', bytes, plain);
    t.strictSame(stub.counts(), { PutObject: 1 });
    const [object] = stub.objects();
    t.match(object, {
      key: 'o/p/n',
      size,
      contentType: 'text/plain',
      metadata: { a: 'b' },
      crc32: crc32(bytes),
    });
  }
});

t.test('a larger object is as many parts as it must be', async (t) => {
  for (const [size, parts] of [
    [stubPartBytes + 1, 2],
    [2 * stubPartBytes, 2],
    [7 * stubPartBytes + 5, 8],
  ] as const) {
    const { stub, store } = await openStubStore(t);
    const bytes = patternBytes(size);
    await storeObject(store, 'o/p/n', bytes, plain);
    t.strictSame(stub.counts(), { CreateMultipartUpload: 1, UploadPart: parts, CompleteMultipartUpload: 1 });
    const [object] = stub.objects();
    t.match(object, { size, contentType: 'text/plain', metadata: { a: 'b' }, crc32: crc32(bytes) });
    t.ok(object?.bytes?.equals(bytes));
  }
});

t.test('no more parts are under way than asked for, and no more connections than allowed', async (t) => {
  const { stub, store } = await openStubStore(t, { maxSockets: 2, concurrentParts: 5 });
  t.equal(store.concurrentParts, 5);
  const bytes = patternBytes(9 * stubPartBytes);
  let connections = 0;
  const watch = setInterval(() => {
    connections = Math.max(connections, stub.openConnections());
  }, 1);
  stub.fault({ operation: 'UploadPart', action: { kind: 'delay', ms: 5 } });
  await storeObject(store, 'o/p/n', bytes, plain);
  clearInterval(watch);
  t.equal(connections, 2 + 1, 'two for parts, one that began the upload');
  t.ok(stub.objects()[0]?.bytes?.equals(bytes));
});

t.test('bytes that are not what their checksum says are refused, and nothing is left', async (t) => {
  for (const size of [10, stubPartBytes + 10]) {
    const { stub, store } = await openStubStore(t);
    const writer = await store.create('o/p/n', plain, never);
    const corrupt = { ...partOf(patternBytes(size % stubPartBytes)), crc32: 1 };
    if (size > stubPartBytes) await writer.writePart(partOf(patternBytes(stubPartBytes)));
    await t.rejects(writer.complete(corrupt), { message: /BadDigest/ });
    await writer.abort();
    t.equal(stub.counts()[size > stubPartBytes ? 'UploadPart' : 'PutObject'], size > stubPartBytes ? 2 : 1);
    t.strictSame(stub.objects(), []);
    t.strictSame(stub.openUploads(), []);
  }
});

t.test('a server that refuses checksums gets objects without', async (t) => {
  const refusal = {
    kind: 'error',
    status: 400,
    code: 'InvalidArgument',
    message: "Unsupported header 'x-amz-checksum-crc32' received for this API call.",
  } as const;
  for (const [operation, size] of [
    ['PutObject', 10],
    ['CreateMultipartUpload', stubPartBytes + 10],
  ] as const) {
    const { stub, store, log } = await openStubStore(t);
    stub.fault({ operation, times: 1, action: refusal });
    await storeObject(store, 'o/p/1', patternBytes(size), plain);
    await storeObject(store, 'o/p/2', patternBytes(size), plain);
    t.equal(stub.counts()[operation], 3, 'it is asked once');
    t.equal(log.failures.length, 1);
    t.match(log.failures[0], /refuses checksums/);
    for (const object of stub.objects()) t.ok(object.bytes?.equals(patternBytes(size)));
  }
});

t.test('many objects go by one request, and one by one where a server has no such request', async (t) => {
  const many = sized(1001, 101);
  for (const [refusal, length, counts] of [
    [null, 1001, { DeleteObjects: 2 }],
    [{ status: 501, code: 'NotImplemented' }, many, { DeleteObjects: sized(2, 1), DeleteObject: many }],
    [{ status: 400, code: 'MissingContentMD5' }, 3, { DeleteObjects: 1, DeleteObject: 3 }],
  ] as const) {
    const { stub, store } = await openStubStore(t);
    await storeObject(store, 'o/p/1', patternBytes(1), plain);
    await storeObject(store, 'o/p/kept', patternBytes(1), plain);
    if (refusal !== null) stub.fault({ operation: 'DeleteObjects', action: { kind: 'error', ...refusal } });
    const keys = Array.from({ length }, (_, index) => `o/p/${index}`);
    t.strictSame(await store.deleteAll(keys, never), []);
    t.match(
      stub.objects().map(({ key }) => key),
      ['o/p/kept'],
    );
    t.match(stub.counts(), counts);
  }
});

t.test('the address is the one of the region and the bucket', async (t) => {
  const { stub } = await openStubStore(t);
  for (const [change, message] of [
    [{ bucket: 'another-bucket' }, /404 NoSuchBucket/],
    [{ region: 'eu-west-1' }, /400 AuthorizationHeaderMalformed/],
    [{ credentials: { accessKeyId: 'nobody', secretAccessKey: 'x' } }, /403 InvalidAccessKeyId/],
    [{ credentials: { accessKeyId: stub.accessKeyId, secretAccessKey: 'x' } }, /403 SignatureDoesNotMatch/],
  ] as const) {
    const { store, log } = await openStubStore(t, change);
    await t.rejects(storeObject(store, 'o/p/n', patternBytes(10)), { message });
    await t.rejects(storeObject(store, 'o/p/n', patternBytes(stubPartBytes + 1)), { message });
    await t.rejects(store.ready(never), { message: /HeadBucket/ });
    t.notMatch(log.failures.join('\n'), /taken back/, 'there was nothing to take back');
    t.equal(log.failures.length, 1, 'what its operator has to put right is said once');
  }
});

t.test('a moved bucket is an error that says where it is', async (t) => {
  const server = createServer((req, res) => {
    req.resume();
    res.writeHead(301, { 'x-amz-bucket-region': 'eu-central-1', 'content-type': 'application/xml' });
    const xml = '<Error><Code>PermanentRedirect</Code><Message>Use another endpoint.</Message></Error>';
    res.end(req.method === 'HEAD' ? '' : xml);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => server.close());
  const { store } = await openStubStore(t, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const message = /301.*the bucket is in the region eu-central-1: set S3_REGION/s;
  await t.rejects(storeObject(store, 'o/p/n', patternBytes(10)), { message });
  await t.rejects(storeObject(store, 'o/p/n', patternBytes(stubPartBytes + 10)), { message });
  await t.rejects(store.ready(never), { message });
});

t.test('a body that breaks off is an error, not a short object', async (t) => {
  const { stub, store } = await openStubStore(t);
  const bytes = patternBytes(3 * stubPartBytes);
  await storeObject(store, 'o/p/n', bytes, plain);
  for (const cut of [undefined, 0, 1, bytes.byteLength - 1]) {
    const action = { kind: 'truncate', ...(cut !== undefined && { bytes: cut }) } as const;
    // 0: the head itself is cut off, which is worth another attempt
    const fault = stub.fault({ operation: 'GetObject', times: 1, action });
    if (cut === 0) t.ok((await collect(store.read('o/p/n', null, never))).equals(bytes));
    else await t.rejects(collect(store.read('o/p/n', null, never)), { message: /GetObject/ }, `after ${cut}`);
    t.equal(fault.hits, 1);
    fault.remove();
  }
});

t.test('a range past the end is refused', async (t) => {
  const { store } = await openStubStore(t);
  await storeObject(store, 'o/p/n', patternBytes(100), plain);
  await t.rejects(collect(store.read('o/p/n', { start: 50, end: 100 }, never)));
  await t.rejects(collect(store.read('o/p/n', { start: 100, end: 100 }, never)));
});

t.test('a store that stops sending is given up, a reader that stops reading is not', async (t) => {
  const { stub } = await openStubStore(t);
  const proxy = await startTcpProxy({ target: { host: '127.0.0.1', port: stub.port } });
  t.teardown(() => proxy.close());
  const { store } = await openStubStore(t, { endpoint: proxy.url, timing: { quiet: 1_000 } });
  const bytes = patternBytes(4 * 1024 ** 2);
  await storeObject(store, 'o/p/n', bytes, plain);

  const slow: Uint8Array[] = [];
  for await (const chunk of store.read('o/p/n', null, never)) {
    // longer than the store may be quiet
    if (slow.length < 2) await sleep(1_500);
    slow.push(chunk);
  }
  t.ok(Buffer.concat(slow).equals(bytes));

  const stalled = store.read('o/p/n', null, never)[Symbol.asyncIterator]();
  await stalled.next();
  proxy.set('toClient', { frozen: true });
  await t.rejects(
    (async () => {
      while (!(await stalled.next()).done);
    })(),
    { message: /no bytes arrived/ },
  );
});

t.test('connections are kept, and closed with the store', async (t) => {
  const { stub, store } = await openStubStore(t);
  for (let i = 0; i < 5; i++) {
    await storeObject(store, `o/p/${i}`, patternBytes(10), plain);
    await storeObject(store, `o/p/${i}`, patternBytes(stubPartBytes + 1), plain);
    await store.head(`o/p/${i}`, never);
  }
  t.equal(stub.openConnections(), 3, 'two parts at once need two, other requests one');
  await collect(store.read('o/p/1', null, never));
  t.equal(stub.openConnections(), 4, 'readers have their own');
  await store.close();
  while (stub.openConnections() > 0) await sleep(1);
});

t.test('parts may come in chunks that are reused at once', async (t) => {
  const { stub, store } = await openStubStore(t);
  const writer = await store.create('o/p/n', plain, never);
  const buffers = Array.from({ length: 3 }, () => Buffer.alloc(stubPartBytes));
  const expected: Buffer[] = [];
  for (let round = 0; round < 4; round++) {
    await Promise.all(
      buffers.map(async (buffer, index) => {
        buffer.fill(round * 3 + index);
        expected.push(Buffer.from(buffer));
        await writer.writePart(partOf(buffer, 1000));
        buffer.fill(0xff);
      }),
    );
  }
  await writer.complete(emptyPart);
  t.ok(stub.objects()[0]?.bytes?.equals(Buffer.concat(expected)));
});

t.test('two writers of one key: the last to complete stays', async (t) => {
  const { stub, store } = await openStubStore(t);
  const bytes = patternBytes(2 * stubPartBytes);
  const first = await store.create('o/p/n', plain, never);
  const second = await store.create('o/p/n', plain, never);
  await first.writePart(partOf(bytes.subarray(0, stubPartBytes)));
  await writeObject(store, second, patternBytes(10));
  await first.complete(partOf(bytes.subarray(stubPartBytes)));
  t.ok(stub.objects()[0]?.bytes?.equals(bytes));
});
