/** Concatenation of tus: partial uploads that become one file. */
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { StateStore } from '#gateway/resumable/state-store.ts';
import { isFinal, offsetOf } from '#gateway/resumable/upload-state.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { testOwner } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import { resumableUploadsOn } from '../services/resumable-uploads.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Gateway = Awaited<ReturnType<typeof serveTus>>;

async function partsOf(t: Test, { begin, patch, ask }: Gateway, chunks: readonly Uint8Array[]) {
  const paths: string[] = [];
  for (const chunk of chunks) {
    const { status, path } = await begin(chunk.byteLength, { 'upload-concat': 'partial' });
    t.equal(status, 201);
    const half = Math.floor(chunk.byteLength / 2);
    if (half > 0) t.equal((await patch(path, 0, chunk.subarray(0, half))).status, 204);
    if (chunk.byteLength > 0) t.equal((await patch(path, half, chunk.subarray(half))).status, 204);
    const head = await ask(path);
    t.match(head, { status: 200, offset: `${chunk.byteLength}` });
    t.equal(head.headers.get('upload-concat'), 'partial');
    paths.push(path);
  }
  return paths;
}

const concatenate = ({ ask, baseUrl }: Gateway, paths: readonly string[], name = 'a.png') =>
  ask('/_f_/demo/resumable', {
    method: 'POST',
    headers: {
      'upload-concat': `final;${paths.map((path, i) => (i % 2 === 0 ? path : baseUrl + path)).join(' ')}`,
      'upload-metadata': `filename ${base64(name)}`,
    },
  });

const cut = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  let at = 0;
  return sizes.map((size) => {
    at += size;
    return bytes.subarray(at - size, at);
  });
};

for (const [name, openStore] of Object.entries(tusStores)) {
  t.test(`${name}: partial uploads of any size become one file, and nothing is left of them`, async (t) => {
    const gateway = await serveTus(t, await openStore(t));
    const { rows, stored, left, patch, ask } = gateway;
    const sizes = [70_000, 1, 0, 131_072, 65_536, 5];
    const bytes = patternBytes(sizes.reduce((sum, size) => sum + size, 0));
    const paths = await partsOf(t, gateway, cut(bytes, sizes));
    t.equal(rows.size, 0, 'a partial upload is no file');
    t.equal((await ask(paths[0] as string, { method: 'GET' })).status, 404);
    t.equal((await patch(paths[0] as string, 70_000, new Uint8Array())).status, 409);
    const made = await concatenate(gateway, paths);
    t.equal(made.status, 201);
    const file = JSON.parse(made.text);
    t.match(file, { originalName: 'a.png', contentType: 'image/png', size: bytes.byteLength });
    t.strictSame(
      [...rows.values()].map((row) => row.crc32),
      [crc32(bytes)],
    );
    t.ok((await stored())[0]?.equals(bytes));
    const location = made.headers.get('location') ?? '';
    t.strictSame(JSON.parse((await ask(location, { method: 'GET' })).text), file);
    t.strictSame(JSON.parse((await concatenate(gateway, paths)).text), file, 'a client may ask again');
    t.equal(rows.size, 1);
    await eventuallyEqual(t, left, []);
  });

  t.test(`${name}: partial uploads that do not make a file are refused, and stay`, async (t) => {
    const gateway = await serveTus(t, await openStore(t), { maxUploadBytes: 100_000 });
    const { begin, ask, rows, left } = gateway;
    const [one = '', other = ''] = await partsOf(t, gateway, [Buffer.alloc(60_000), Buffer.alloc(60_000)]);
    const { path: begun } = await begin(10, { 'upload-concat': 'partial' });
    const { path: plain } = await begin(10);
    const refused: [what: string, paths: string[], status: number, code: string][] = [
      ['too long', [one, other], 413, 'payload_too_large'],
      ['not complete', [one, begun], 409, 'upload_conflict'],
      ['no partial upload', [one, plain], 409, 'upload_conflict'],
      ['of another project', [one, other.replace('demo', 'another')], 400, 'invalid_header'],
      ['gone', [one, other.replace('resumable/', 'resumable/0')], 404, 'not_found'],
      ['none', [], 400, 'invalid_header'],
      ['one twice', [one, one], 400, 'invalid_header'],
      ['too many', Array.from({ length: 101 }, (_, i) => `${one}${i}`), 400, 'invalid_header'],
    ];
    for (const [what, paths, status, code] of refused)
      t.match(await concatenate(gateway, paths), { status, text: new RegExp(code) }, what);
    for (const value of ['x', 'final', 'final; x', 'partial;'])
      t.match(
        await begin(1, { 'upload-concat': value }),
        { status: 400, text: /invalid_header/ },
        JSON.stringify(value),
      );
    const stranger = { 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' };
    const headers = { 'upload-concat': `final;${one}`, ...stranger };
    t.equal((await ask('/_f_/demo/resumable', { method: 'POST', headers })).status, 404);
    t.equal(rows.size, 0);
    for (const path of [one, other, begun, plain])
      t.equal((await ask(path, { method: 'DELETE' })).status, 204);
    t.strictSame(await left(), []);
  });

  t.test(`${name}: a file of partial uploads that breaks off goes on where it was`, async (t) => {
    const store = await openStore(t);
    let readable = 150_000;
    let read = 0;
    const breaking: ObjectStore = {
      ...store,
      read(key, range, signal) {
        if (!key.endsWith('!0')) return store.read(key, range, signal);
        return (async function* () {
          for await (const chunk of store.read(key, range, signal)) {
            read += chunk.byteLength;
            if (read > readable) throw new Error('the store went away');
            yield chunk;
          }
        })();
      },
    };
    const gateway = await serveTus(t, breaking);
    const bytes = patternBytes(200_000);
    const paths = await partsOf(t, gateway, cut(bytes, [100_000, 40_000, 60_000]));
    t.equal((await concatenate(gateway, paths)).status, 500);
    t.equal(gateway.rows.size, 0);
    // else each of them would be bytes that count to no quota
    t.match(await concatenate(gateway, paths, 'b.png'), { status: 409, text: /belongs to another file/ });
    t.match(await concatenate(gateway, paths.slice(1)), { status: 409, text: /belongs to another file/ });
    const name = (await gateway.left()).map((key) => key.split('/').at(-1) ?? '').find(isFinal) ?? '';
    const final = `/_f_/demo/resumable/${name}`;
    const states = new StateStore({ store, deploymentId: testDeployment });
    const whose = { ownerId: testOwner, projectSlug: 'demo', name };
    const begun = await states.load(states.addressOf(whose), never);
    const at = begun === null ? Number.NaN : offsetOf(begun);
    const head = await gateway.ask(final);
    t.match(head, { status: 200, offset: null });
    t.equal(head.headers.get('upload-length'), '200000');
    t.equal(head.headers.get('upload-concat'), `final;${paths.join(' ')}`);
    const takesNone = { status: 403, text: /final_upload/ };
    t.match(await gateway.patch(final, at, Buffer.alloc(200_000 - at)), takesNone);
    t.match(await gateway.patch(final, at, Buffer.alloc(1)), takesNone);
    t.strictSame(await states.load(states.addressOf(whose), never), begun, 'nothing has changed');
    const stranger = { 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' };
    t.equal((await gateway.patch(final, at, Buffer.alloc(1), stranger)).status, 404);
    readable = Number.POSITIVE_INFINITY;
    read = 0;
    t.equal((await concatenate(gateway, paths)).status, 201);
    t.ok(read < 100_000, `${read} bytes were read again`);
    t.match(await gateway.ask(final), { status: 200, offset: '200000' });
    t.match(await gateway.patch(final, 200_000, Buffer.alloc(1)), takesNone);
    t.ok((await gateway.stored())[0]?.equals(bytes));
    await eventuallyEqual(t, gateway.left, []);
  });

  t.test(`${name}: partial uploads fill the quota once, and are no files for the janitor`, async (t) => {
    const store = await openStore(t);
    const gateway = await serveTus(t, store, { limits: { files: 0, bytes: 100_000 }, maxOpenUploads: 2 });
    const { rows, begin, cloudFiles, memory, left } = gateway;
    const bytes = patternBytes(90_000);
    const paths = await partsOf(t, gateway, cut(bytes, [50_000, 40_000]));
    t.match(await begin(1), { status: 403, text: /too_many_uploads/ });
    t.equal((await concatenate(gateway, paths)).status, 201);
    t.match(await begin(10_001), { status: 403, text: /quota_exceeded/ });
    rows.clear();
    const expired = { expireAfter: -1000 };
    await partsOf(t, await serveTus(t, store), [patternBytes(10)]);
    for (const staleAfter of [1e9, 0, 0])
      await testJanitor({
        resumable: resumableUploadsOn({ store, cloudFiles, memory, ...(staleAfter === 0 && expired) }),
        store,
        cloudFiles,
        staleAfter,
        grace: -1000,
      }).run({ dryRun: false });
    t.equal(rows.size, 1, 'the row of the file that had lost it, and no other');
    t.strictSame(await left(), []);
  });
}

t.test('S3: the janitor spares parts of a partial upload, and aborts unknown ones', async (t) => {
  const store = await tusStores.S3(t);
  const { begin, patch, cloudFiles, resumable, left, ask } = await serveTus(t, store);
  const run = () => testJanitor({ store, cloudFiles, resumable, grace: 1e9 }).run({ dryRun: false });
  const bytes = patternBytes(200_000);
  const { path } = await begin(bytes.byteLength, { 'upload-concat': 'partial' });
  t.equal((await patch(path, 0, bytes.subarray(0, 150_000))).status, 204);
  t.match(await run(), { uploadsAborted: 0, uploadsExpired: 0, failures: 0 });
  t.equal((await patch(path, 150_000, bytes.subarray(150_000))).status, 204);
  t.equal((await ask(path, { method: 'DELETE' })).status, 204);
  t.strictSame(await left(), []);
  // as a gateway leaves it that dies before it saves the state
  const key = `${testDeployment}/_resumable/0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a/demo/${path.split('/').at(-1)}!0`;
  const about = { contentType: 'image/png', metadata: {} };
  const writer = await store.resume(key, about, null, new AbortController().signal);
  await writer.writePart({ chunks: [bytes], size: bytes.byteLength, crc32: crc32(bytes) });
  await writer.suspend();
  t.match(await run(), { uploadsAborted: 1, failures: 0 });
});
