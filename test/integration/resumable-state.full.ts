/** What a gateway remembers of an upload between two requests. */
import t from 'tap';
import { openStubStore, stubPartBytes } from '../services/stub-store.ts';
import { serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const other = { 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' };

for (const [name, openStore] of Object.entries(tusStores)) {
  t.test(`${name}: the state of an upload is read once, however many chunks follow`, async (t) => {
    const store = await openStore(t);
    const reads: string[] = [];
    const readWhole: typeof store.readWhole = (key, maxBytes, signal) => {
      if (key.includes('/_resumable/')) reads.push(key);
      return store.readWhole(key, maxBytes, signal);
    };
    const { begin, patch, stored } = await serveTus(t, { ...store, readWhole });
    const bytes = patternBytes(4 * stubPartBytes);
    const { path } = await begin(bytes.byteLength);
    for (let at = 0; at < bytes.byteLength; at += stubPartBytes)
      await patch(path, at, bytes.subarray(at, at + stubPartBytes));
    t.ok((await stored())[0]?.equals(bytes));
    t.equal(reads.length, 1);
  });

  t.test(`${name}: what is remembered of an upload is its own account's`, async (t) => {
    const { begin, patch, ask, stored, rows } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(1000);
    const { path } = await begin(bytes.byteLength, {}, bytes.subarray(0, 10));
    const stranger = { ...other, 'upload-length': '11' };
    t.equal((await patch(path, 10, new Uint8Array(1), stranger)).status, 404);
    t.match(await ask(path), { status: 200, offset: '10' });
    t.equal((await patch(path, 10, bytes.subarray(10, 20))).status, 204);
    t.equal((await patch(path.replace('demo', 'other'), 20, bytes.subarray(20))).status, 404);
    t.equal((await patch(path, 20, bytes.subarray(20))).status, 204);
    t.ok((await stored())[0]?.equals(bytes));
    t.equal(rows.size, 1);
  });

  t.test(`${name}: an upload that was dropped since is not remembered`, async (t) => {
    const { begin, patch, ask, left, rows } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(1000);
    const { path } = await begin(bytes.byteLength, {}, bytes.subarray(0, 10));
    t.equal((await ask(path, { method: 'DELETE' })).status, 204);
    t.equal((await patch(path, 10, bytes.subarray(10))).status, 404);
    t.strictSame(await left(), []);
    t.equal(rows.size, 0);
  });

  t.test(`${name}: bytes that the store does not have are not acknowledged`, async (t) => {
    const store = await openStore(t);
    let lost = 0;
    const resume: typeof store.resume = async (...args) => {
      const writer = await store.resume(...args);
      const { written } = writer;
      writer.written = async () => {
        const there = await written.call(writer);
        return { ...there, size: there.size - lost };
      };
      return writer;
    };
    const { begin, patch, ask } = await serveTus(t, { ...store, resume });
    const { path } = await begin(3 * stubPartBytes, {}, patternBytes(stubPartBytes));
    lost = 1;
    t.equal((await patch(path, stubPartBytes, patternBytes(stubPartBytes))).status, 500);
    t.match(await ask(path), { status: 200, offset: String(2 * stubPartBytes - 1) });
    lost = 0;
    t.equal((await ask(path, { method: 'DELETE' })).status, 204);
  });

  t.test(`${name}: an offset that an upload has left behind is refused with where it is`, async (t) => {
    const { begin, patch } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(1000);
    const { path } = await begin(bytes.byteLength, {}, bytes.subarray(0, 10));
    t.equal((await patch(path, 10, bytes.subarray(10, 20))).status, 204);
    t.match(await patch(path, 10, bytes.subarray(10, 20)), { status: 409, offset: '20' });
    t.equal((await patch(path, 20, bytes.subarray(20))).status, 204);
  });
}

t.test('S3: a state that can not be saved leaves the one before', async (t) => {
  const { stub, store } = await openStubStore(t, { timing: { request: 500 } });
  const { begin, patch, ask, stored } = await serveTus(t, store);
  const bytes = patternBytes(200_000);
  const { path } = await begin(bytes.byteLength, {}, bytes.subarray(0, 50_000));
  for (const stage of ['after-body', 'after-work'] as const) {
    const head = await ask(path);
    const at = Number(head.offset);
    const fault = stub.fault({
      operation: 'PutObject',
      key: /_resumable[^!]*$/,
      action: { kind: 'error', status: 500, code: 'InternalError', stage },
    });
    const { status } = await patch(path, at, bytes.subarray(at, at + 50_000));
    t.equal(status, 503, stage);
    fault.remove();
    const after = await ask(path);
    t.equal(after.status, 200);
    t.ok(Number(after.offset) >= at, `${after.offset} bytes`);
  }
  const { offset } = await ask(path);
  t.equal((await patch(path, Number(offset), bytes.subarray(Number(offset)))).status, 204);
  t.ok((await stored())[0]?.equals(bytes));
});
