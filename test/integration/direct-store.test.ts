import t from 'tap';
import type { DirectAbilities } from '#objects/direct-store.ts';
import { checkKey } from '#objects/file-key.ts';
import type { S3StubOptions } from '../services/s3-stub/start-s3-stub.ts';
import { openStubStore, stubPartBytes } from '../services/stub-store.ts';
import { untilEmpty } from '../services/until-empty.ts';
import { directStoreContract } from './direct-store-contract.ts';

const never = new AbortController().signal;
const deploymentId = 'c0ffee00-0000-4000-8000-000000000001';
const all: DirectAbilities = {
  refusesOverwrite: true,
  etagIsMd5: true,
  checksMd5: true,
  checksChecksums: true,
};

const servers: Readonly<Record<string, S3StubOptions>> = {
  'as S3': { md5Etags: true },
  'without the headers': {
    ignores: ['if-none-match', 'content-md5', 'x-amz-checksum-crc32c', 'x-amz-checksum-algorithm'],
  },
};
for (const [name, options] of Object.entries(servers)) {
  t.test(`contract: a server ${name}`, async (t) => {
    const { stub, store, log } = await openStubStore(t, { deploymentId, stub: { pageSize: 2, ...options } });
    await directStoreContract(t, { store, partBytes: stubPartBytes, checksSignatures: true });
    t.strictSame(await untilEmpty(() => stub.openUploads()), []);
    t.strictSame(await untilEmpty(() => stub.objects()), []);
    t.strictSame(log.failures, []);
  });
}

t.test('what a server enforces is what it was seen to refuse', async (t) => {
  const cases: readonly (readonly [S3StubOptions, Partial<DirectAbilities>])[] = [
    [{}, {}],
    [{ md5Etags: false }, { etagIsMd5: false }],
    [{ ignores: ['if-none-match'] }, { refusesOverwrite: false }],
    [{ ignores: ['content-md5'] }, { checksMd5: false }],
    [{ ignores: ['x-amz-checksum-crc32c', 'x-amz-checksum-algorithm'] }, { checksChecksums: false }],
    // it refuses right ones, too
    [{ refuses: ['x-amz-checksum-crc32c'] }, { checksChecksums: false }],
    [{ refuses: ['x-amz-checksum-algorithm'] }, { checksChecksums: false }],
    [{ refuses: ['if-none-match'] }, { refusesOverwrite: false }],
    [{ refuses: ['content-md5'] }, { checksMd5: false }],
  ];
  for (const [options, expected] of cases) {
    const { stub, store, log } = await openStubStore(t, {
      deploymentId,
      stub: { md5Etags: true, ...options },
    });
    const asked = [store.direct?.abilities(never), store.direct?.abilities(never)];
    const wanted = { ...all, ...expected };
    t.strictSame(await Promise.all(asked), [wanted, wanted], JSON.stringify(options));
    t.strictSame(await untilEmpty(() => [...stub.objects(), ...stub.openUploads()]), [], 'nothing is left');
    const before = stub.requests.length;
    t.strictSame(await store.direct?.abilities(never), wanted);
    t.equal(stub.requests.length, before, 'it is remembered');
    t.strictSame(log.failures, []);
  }
});

t.test('the objects of a probe are checks of the deployment, which the janitor knows', async (t) => {
  const { stub, store } = await openStubStore(t, { deploymentId });
  stub.fault({ operation: 'DeleteObject', action: { kind: 'error', status: 403, code: 'AccessDenied' } });
  await store.direct?.abilities(never);
  const prefix = checkKey(deploymentId, '');
  t.ok(stub.objects().length > 0);
  for (const { key } of stub.objects()) t.ok(key.startsWith(prefix), key);
});

t.test('a store that is away enforces nothing, and is not asked for a while', async (t) => {
  const { stub, store, log } = await openStubStore(t, {
    deploymentId,
    timing: { quiet: 300, request: 1200 },
  });
  const away = stub.fault({ action: { kind: 'error', status: 503, code: 'SlowDown' } });
  const none = { refusesOverwrite: false, etagIsMd5: false, checksMd5: false, checksChecksums: false };
  t.strictSame(await store.direct?.abilities(never), none);
  t.match(log.failures, [/could not be probed/]);
  t.ok(away.hits > 0);
  stub.clearFaults();
  t.strictSame(await store.direct?.abilities(never), none);
});

t.test('a client that goes away does not end the probe of others', async (t) => {
  const { stub, store } = await openStubStore(t, { deploymentId, stub: { md5Etags: true } });
  stub.fault({ operation: 'PutObject', times: 1, action: { kind: 'delay', ms: 50 } });
  const gone = new AbortController();
  const first = store.direct?.abilities(gone.signal);
  const second = store.direct?.abilities(never);
  gone.abort(new Error('gone'));
  await t.rejects(first as Promise<unknown>, { message: 'gone' });
  t.strictSame(await second, all);
});

t.test(
  'an upload whose id got lost with an answer is aborted, and the one that is known stays',
  async (t) => {
    const { stub, store } = await openStubStore(t);
    stub.fault({
      operation: 'CreateMultipartUpload',
      times: 1,
      action: { kind: 'reset', stage: 'after-work' },
    });
    const description = { contentType: 'text/plain', metadata: {} };
    const id = await store.direct?.begin('o/p/n', description, { checksums: false }, never);
    await untilEmpty(() => stub.openUploads().slice(1));
    t.match(stub.openUploads(), [{ uploadId: id }]);
  },
);

t.test('a completion whose answer got lost is no such upload, and its object is there', async (t) => {
  for (const action of [
    { kind: 'reset', stage: 'after-work' },
    { kind: 'error-in-ok', code: 'InternalError', stage: 'after-work' },
    { kind: 'truncate' },
  ] as const) {
    const { stub, store } = await openStubStore(t);
    const { direct } = store;
    if (direct === undefined) throw new Error('S3 has one');
    const description = { contentType: 'text/plain', metadata: {} };
    const uploadId = await direct.begin('o/p/n', description, { checksums: false }, never);
    const upload = { key: 'o/p/n', description, uploadId, checksums: false };
    const { url, headers } = await direct.putAddress(upload, { number: 1, size: 3 }, 60);
    await fetch(url, { method: 'PUT', headers, body: 'abc' });
    const parts = (await direct.listParts(upload, never)) ?? [];
    stub.fault({ operation: 'CompleteMultipartUpload', times: 1, action });
    t.equal(await direct.complete(upload, parts, never), false);
    t.match(await direct.inspect('o/p/n', never), { size: 3 });
  }
});

t.test(
  'a completion of an upload that is gone is no such upload, although the server says 500 (Ceph)',
  async (t) => {
    const { stub, store } = await openStubStore(t);
    const { direct } = store;
    const description = { contentType: 'text/plain', metadata: {} };
    stub.fault({
      operation: 'CompleteMultipartUpload',
      action: { kind: 'error', status: 500, code: 'InternalError' },
    });
    const upload = { key: 'o/p/n', description, uploadId: 'gone', checksums: false };
    t.equal(await direct?.complete(upload, [{ number: 1, size: 1, etag: 'x' }], never), false);
  },
);

t.test('an address has no signed length among the headers to send, and no writer', async (t) => {
  const { store } = await openStubStore(t);
  const description = { contentType: 'text/plain', metadata: { a: 'ä' } };
  const upload = { key: 'o/p/n', description, uploadId: null, checksums: false };
  const put = await store.direct?.putAddress(upload, { number: 1, size: 3, crc32c: 'AAAAAA==' }, 60);
  t.strictSame(put?.headers, {
    'content-type': 'text/plain',
    'if-none-match': '*',
    'x-amz-meta-a': "utf-8''%C3%A4",
  });
  t.match(put?.url, /X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost%3B/);
});
