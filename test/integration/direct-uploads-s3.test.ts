/** Uploads that clients send to S3 by themselves, with everything that goes wrong on the way. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { FileDigests } from '#gateway/digest/file-digests.ts';
import { crc32c } from '#objects/crc32c.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { S3Timing } from '#objects/s3/s3-options.ts';
import { DirectClient, type PlannedPart } from '../services/direct-client.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import type { S3StubOptions } from '../services/s3-stub/start-s3-stub.ts';
import { openStubStore } from '../services/stub-store.ts';
import { testJanitor } from '../services/test-janitor.ts';

const partBytes = 5 * 1024 * 1024;
const day = 86_400_000;
/** More than a plan or a mark is kept for late bytes. Milliseconds. */
const longAfter = 3 * 3_600_000;
const twoParts = randomBytes(partBytes + 1000);
/** A server where one part is a multipart upload, too. */
const inParts: S3StubOptions = { ignores: ['if-none-match'] };
const small = randomBytes(1000);

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('base64');
const sumOf = (bytes: Uint8Array) => {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32c(bytes));
  return sum.toString('base64');
};

type GatewayOptions = Parameters<typeof serveGatewayOn>[2];

async function setUp(
  t: Test,
  {
    stub: options,
    timing = {},
    ...gateway
  }: GatewayOptions & { stub?: S3StubOptions; timing?: Partial<S3Timing> } = {},
) {
  const { stub, store, log } = await openStubStore(t, {
    stub: { minPartBytes: partBytes, md5Etags: true, ...options },
    partBytes,
    deploymentId: testDeployment,
    timing,
  });
  const served = await serveGatewayOn(t, store, { expireAfter: day, ...gateway });
  const { baseUrl, cloudFiles, plans, rows } = served;
  const client = new DirectClient(baseUrl);
  /** Twice, as parts and marks may wait for a second run. @param age of what is stored by then, in milliseconds */
  const janitor = async (age = day + longAfter) => {
    await plans.settle();
    stub.age(age);
    const options = { store, cloudFiles, plans, staleAfter: day, grace: 0 };
    const first = await testJanitor(options).run({ dryRun: false });
    const second = await testJanitor(options).run({ dryRun: false });
    return { failures: first.failures + second.failures, uploadsExpired: first.uploadsExpired };
  };
  /** What is stored that is neither a file with its row, nor a mark of an ended plan. */
  const left = () => {
    const files = new Set([...rows.values()].map(({ objectKey }) => objectKey));
    const keys = stub.objects().map(({ key }) => key);
    return [
      ...keys.filter((key) => !files.has(key) && !key.endsWith('!closed')),
      ...stub.openUploads().map(({ key }) => key),
    ];
  };
  return { ...served, client, stub, store, storeLog: log, janitor, left };
}

t.test('a file of one part, and one of two', async (t) => {
  const { client, stub, plans, left, rows } = await setUp(t);
  const one = await client.plan({ name: 'ä.txt', size: small.length });
  t.match(one.parts[0]?.headers, { 'if-none-match': '*', 'content-type': /^text\/plain/ });
  t.equal(new URL(one.parts[0]?.url ?? '').origin, stub.endpoint);
  await client.send(one, small);
  t.match(await client.complete(one), { status: 200, body: { size: 1000, originalName: 'ä.txt' } });
  t.strictSame(await client.bytesOf(one.id), small);

  const two = await client.plan({ size: twoParts.length, partBytes });
  const sent = await client.send(two, twoParts);
  t.match(await client.ask('GET', `${two.location}?uploaded=true`), {
    body: { state: 'open', uploaded: sent.map((part) => ({ ...part, etag: part.etag.slice(1, -1) })) },
  });
  const done = await client.complete(two, sent);
  t.match(done, { status: 200, body: { size: twoParts.length } });
  t.strictSame(await client.bytesOf(two.id), twoParts);
  t.strictSame((await client.complete(two)).body, done.body, 'the same completion twice');
  await plans.settle();
  t.strictSame(left(), []);
  t.equal(rows.size, 2);
});

t.test('the store refuses another size, and a digest that was planned', async (t) => {
  const { client } = await setUp(t);
  const put = async (wanted: object, bytes: Uint8Array, headers: Record<string, string> = {}) => {
    const { parts } = await client.plan({ size: small.length, ...wanted });
    const [part] = parts as [PlannedPart];
    return client.put({ ...part, headers: { ...part.headers, ...headers } }, bytes);
  };
  const wrong = randomBytes(small.length);
  t.equal((await put({}, small.subarray(1))).status, 403, 'a byte less');
  t.equal((await put({}, Buffer.concat([small, small]))).status, 403, 'more bytes');
  t.equal((await put({ partMd5: [md5(small)] }, wrong)).status, 400, 'MD5');
  t.equal((await put({ partMd5: [md5(small)] }, wrong, { 'content-md5': md5(wrong) })).status, 403);
  t.equal((await put({ crc32c: sumOf(small) }, wrong)).status, 400, 'CRC-32C');
  t.equal((await put({ partMd5: [md5(small)], crc32c: sumOf(small) }, small)).status, 200);
});

t.test('parts that are missing, of another size, sent twice, or of another upload', async (t) => {
  const { client } = await setUp(t);
  const planned = await client.plan({ size: twoParts.length, partBytes });
  const [first, second] = planned.parts as [PlannedPart, PlannedPart];
  const conflict = async (problem: RegExp, parts?: Parameters<DirectClient['complete']>[1]) =>
    t.match(await client.complete(planned, parts), {
      status: 409,
      body: { code: 'upload_conflict', error: [problem] },
    });
  await conflict(/Part 1 has not arrived/);
  const old = await client.put(first, randomBytes(first.size));
  await conflict(/Part 2 has not arrived/);
  const again = await client.put(first, twoParts.subarray(0, partBytes));
  t.not(old.etag, again.etag);
  const last = await client.put(second, twoParts.subarray(partBytes));
  await conflict(/Part 1 was sent again/, [
    { number: 1, etag: old.etag },
    { number: 2, etag: last.etag },
  ]);
  await conflict(/Part 2 is not in the list/, [{ number: 1, etag: again.etag }]);
  const both = [
    { number: 1, etag: again.etag },
    { number: 2, etag: last.etag },
  ];
  await conflict(/Part 3 is not planned/, [...both, { number: 3, etag: last.etag }]);
  const other = await client.plan({ size: twoParts.length, partBytes });
  const foreign = await client.send(other, randomBytes(twoParts.length));
  await conflict(/etag/, foreign);
  t.match(await client.complete(planned, both), { status: 200 });
  t.strictSame(await client.bytesOf(planned.id), twoParts);
});

t.test('parts that the address does not allow', async (t) => {
  const { client, stub } = await setUp(t);
  const planned = await client.plan({ size: twoParts.length, partBytes });
  const [first, second] = planned.parts as [PlannedPart, PlannedPart];
  const forged = (change: (url: URL) => void, bytes: Uint8Array) => {
    const url = new URL(second.url);
    change(url);
    return client.put({ ...second, url: url.href }, bytes);
  };
  const rest = twoParts.subarray(partBytes);
  const number = (to: string) => (url: URL) => url.searchParams.set('partNumber', to);
  t.equal((await forged(number('10001'), rest)).status, 403, 'a part of another number');
  t.equal((await forged(number('1'), rest)).status, 403, 'a small part in the middle');
  t.equal((await forged((url) => url.searchParams.delete('uploadId'), rest)).status, 403, 'the whole object');
  t.equal((await forged((url) => url.searchParams.set('X-Amz-Expires', '86400'), rest)).status, 403);
  t.equal((await client.put(first, rest)).status, 403, 'too small for its place');
  t.equal((await fetch(first.url)).status, 403, 'reading');
  t.equal((await fetch(first.url, { method: 'DELETE' })).status, 403, 'deleting');
  t.strictSame(stub.openUploads()[0]?.parts, []);
  const [parts] = [Array.from({ length: 10_001 }, (_, at) => ({ number: at + 1, etag: 'x' }))];
  t.match(await client.complete(planned, parts), { status: 400, body: { code: 'invalid_body' } });
  t.match(await client.complete(planned, [{ number: 10_001, etag: 'x' }]), { status: 400 });
});

t.test('the parts of a large file are as few as the store takes', async (t) => {
  const { client } = await setUp(t, { maxDirectBytes: 5 * 1024 ** 4 });
  const terabytes = await client.plan({ size: 5 * 1024 ** 4, partBytes });
  t.equal(terabytes.partCount, 10_000);
  t.equal(terabytes.parts.length, 100);
  const last = await client.ask('GET', `${terabytes.location}?parts=9901-10000`);
  t.equal(last.body.parts.length, 100);
  t.equal(last.body.parts.at(-1).offset + last.body.parts.at(-1).size, 5 * 1024 ** 4);
  t.match(await client.complete(terabytes), { status: 409 });
  t.match(await client.ask('POST', '/_f_/demo/direct', { name: 'x', size: 5 * 1024 ** 4 + 1 }), {
    status: 413,
    body: { code: 'payload_too_large' },
  });
});

t.test('another account', async (t) => {
  const { client, rows } = await setUp(t);
  const planned = await client.plan({ size: small.length });
  await client.send(planned, small);
  const stranger = client.as({ 'test-owner': randomUUID() });
  t.equal((await stranger.complete(planned)).status, 404);
  t.equal((await stranger.state(planned)).status, 404);
  t.equal((await stranger.drop(planned)).status, 404);
  t.equal(rows.size, 0);
  t.equal((await client.complete(planned)).status, 200);
  t.equal((await stranger.complete(planned)).status, 404);
  t.equal((await stranger.drop(planned)).status, 404);
});

t.test('an expired plan goes with its parts, and with what comes late', async (t) => {
  const { client, janitor, left, stub, rows } = await setUp(t, { expireAfter: 200 });
  const planned = await client.plan({ size: twoParts.length, partBytes });
  const sent = await client.send(planned, twoParts);
  const single = await client.plan({ size: small.length });
  await sleep(250);
  t.match(await client.complete(planned, sent), { status: 410, body: { code: 'upload_expired' } });
  t.match(await client.drop(planned), { status: 410 });
  await client.send(single, small);
  t.match(await janitor(0), { failures: 0, uploadsExpired: 0 });
  t.equal(left().length, 4, 'nothing goes while addresses are good');
  t.match(await janitor(), { failures: 0, uploadsExpired: 2 });
  t.strictSame(left(), []);
  t.equal(stub.objects().length, 0);
  t.equal(rows.size, 0);
});

t.test('parts that come after the end change nothing', async (t) => {
  const { client, janitor, left, plans } = await setUp(t);
  const wrong = randomBytes(twoParts.length);
  const done = await client.plan({ size: twoParts.length, partBytes });
  await client.send(done, twoParts);
  t.equal((await client.complete(done)).status, 200);
  for (const part of done.parts)
    t.equal((await client.put(part, wrong.subarray(part.offset, part.offset + part.size))).status, 404);
  const single = await client.plan({ size: small.length });
  await client.send(single, small);
  t.equal((await client.complete(single)).status, 200);
  t.equal((await client.put(single.parts[0] as PlannedPart, wrong.subarray(0, 1000))).status, 412);

  const dropped = await client.plan({ size: small.length });
  const abandoned = await client.plan({ size: twoParts.length, partBytes });
  for (const planned of [dropped, abandoned]) t.equal((await client.drop(planned)).status, 204);
  t.equal((await client.put(abandoned.parts[0] as PlannedPart, wrong.subarray(0, partBytes))).status, 404);
  await client.send(dropped, small);
  t.equal((await client.complete(dropped)).status, 404);
  const deleted = await client.plan({ size: small.length });
  await client.send(deleted, small);
  t.equal((await client.complete(deleted)).status, 200);
  t.equal(await client.delete(deleted.id), 204);
  await client.send(deleted, wrong.subarray(0, 1000));
  t.equal((await client.complete(deleted)).status, 404);
  await plans.settle();
  await janitor(0);
  t.equal(await client.bytesOf(deleted.id), null, 'the janitor does not adopt what came late');
  t.match(await janitor(), { failures: 0 });
  t.strictSame(left(), []);
  t.strictSame(await client.bytesOf(done.id), twoParts);
  t.strictSame(await client.bytesOf(single.id), small);
});

t.test('a server that ignores conditions gets no single object', async (t) => {
  const { client } = await setUp(t, { stub: { ignores: ['if-none-match'] } });
  const planned = await client.plan({ size: small.length });
  const [part] = planned.parts as [PlannedPart];
  t.match(part.url, /uploadId=/);
  await client.send(planned, small);
  t.equal((await client.complete(planned)).status, 200);
  t.equal((await client.put(part, randomBytes(1000))).status, 404);
  t.strictSame(await client.bytesOf(planned.id), small);
});

t.test('a server that ignores checksums proves nothing', async (t) => {
  const ignores = ['x-amz-checksum-crc32c', 'content-md5', 'x-amz-checksum-algorithm'];
  const { client, rows } = await setUp(t, { stub: { ignores, md5Etags: false } });
  const wanted = {
    size: small.length,
    crc32c: sumOf(small),
    partMd5: [md5(small)],
    sha256: createHash('sha256').update(small).digest('hex'),
  };
  const good = await client.plan(wanted);
  await client.send(good, small);
  t.match(await client.complete(good), { status: 200, body: { verified: 'size' } });
  const bad = await client.plan(wanted);
  await client.send(bad, randomBytes(small.length));
  t.match(await client.ask('POST', `${bad.location}/complete?verify=bytes`), {
    status: 400,
    body: { code: 'checksum_mismatch', error: [/in sha256 and crc32c/] },
  });
  t.equal(rows.size, 1);
  await client.send(bad, small);
  t.match(await client.ask('POST', `${bad.location}/complete?verify=bytes`), {
    status: 200,
    body: { verified: 'bytes', sha256: wanted.sha256 },
  });
  t.strictSame(await client.bytesOf(bad.id), small, 'after the right bytes were sent');
});

t.test('a server that knows MD5 by the ETag only', async (t) => {
  const { client } = await setUp(t, { stub: { ignores: ['content-md5'] } });
  const planned = await client.plan({ size: small.length, partMd5: [md5(small)] });
  await client.send(planned, randomBytes(small.length));
  t.match(await client.complete(planned), {
    status: 409,
    body: { error: [/other bytes than its MD5 says/] },
  });
});

t.test('a server that lists parts late', async (t) => {
  const { client, stub } = await setUp(t, { stub: inParts });
  const planned = await client.plan({ size: small.length });
  const sent = await client.send(planned, small);
  stub.listWithout([1]);
  t.match(await client.complete(planned, sent), { status: 409, body: { error: ['Part 1 has not arrived'] } });
  stub.listWithout([]);
  t.equal((await client.complete(planned, sent)).status, 200);
  t.strictSame(await client.bytesOf(planned.id), small);
});

t.test('a part that is sent again while the upload is completed', async (t) => {
  const { client, stub } = await setUp(t, { stub: inParts });
  const planned = await client.plan({ size: small.length });
  const sent = await client.send(planned, small);
  stub.fault({ operation: 'CompleteMultipartUpload', times: 1, action: { kind: 'delay', ms: 300 } });
  const completion = client.complete(planned, sent);
  while ((stub.counts().CompleteMultipartUpload ?? 0) < 2) await sleep(5);
  await client.put(planned.parts[0] as PlannedPart, randomBytes(1000));
  t.match(await completion, { status: 409, body: { code: 'upload_conflict', error: [/Part 1/] } });
  await client.put(planned.parts[0] as PlannedPart, small);
  t.equal((await client.complete(planned)).status, 200);
  t.strictSame(await client.bytesOf(planned.id), small);
});

t.test('answers of CompleteMultipartUpload that are lost, late, or an error after 200', async (t) => {
  const { client, stub, rows } = await setUp(t, { stub: inParts });
  const operation = 'CompleteMultipartUpload';
  for (const action of [
    { kind: 'error-in-ok', code: 'InternalError' },
    { kind: 'error-in-ok', code: 'InternalError', stage: 'after-work' },
    { kind: 'error', status: 500, code: 'InternalError', stage: 'after-work' },
    { kind: 'reset', stage: 'after-work' },
    { kind: 'truncate' },
    { kind: 'delay', ms: 300, stage: 'after-work' },
  ] as const) {
    const planned = await client.plan({ size: small.length });
    const sent = await client.send(planned, small);
    const fault = stub.fault({ operation, times: 1, action });
    t.match(await client.complete(planned, sent), { status: 200 }, JSON.stringify(action));
    t.equal(fault.hits, 1);
    t.strictSame(await client.bytesOf(planned.id), small);
    t.match(await client.state(planned), { body: { state: 'complete', file: { name: planned.id } } });
  }
  t.equal(rows.size, 6);
});

t.test('a store that completes the upload and never answers', async (t) => {
  const timing = { quiet: 400, request: 10_000 };
  const { client, stub } = await setUp(t, { stub: inParts, timing });
  const planned = await client.plan({ size: small.length });
  await client.send(planned, small);
  const action = { kind: 'hang', stage: 'after-work' } as const;
  const fault = stub.fault({ operation: 'CompleteMultipartUpload', times: 1, action });
  t.match(await client.complete(planned), { status: 503 }, 'a store that says nothing is down');
  t.match(await client.complete(planned), { status: 200 }, 'and the next completion finds the object');
  t.equal(fault.hits, 1);
  t.strictSame(await client.bytesOf(planned.id), small);
});

t.test('digests of all files', async (t) => {
  const digests = new FileDigests();
  t.teardown(() => digests.close());
  const { client, rows } = await setUp(t, { digests });
  const sha256 = createHash('sha256').update(small).digest('hex');
  const bad = await client.plan({ size: small.length, sha256 });
  await client.send(bad, randomBytes(small.length));
  t.match(await client.complete(bad), {
    status: 400,
    body: { code: 'checksum_mismatch', error: [/sha256/] },
  });
  t.equal(rows.size, 0);
  await client.send(bad, small);
  t.match(await client.complete(bad), { status: 200, body: { sha256, verified: 'bytes' } });
  const large = await client.plan({ size: twoParts.length, partBytes, sha256 });
  await client.send(large, twoParts);
  t.match(await client.complete(large), { status: 400 });
  t.match(await client.complete(large), { status: 404 }, 'its parts were joined to something else');
  const empty = await client.plan({ size: 0 });
  const ofNothing = createHash('sha256').digest('hex');
  t.match(await client.complete(empty), { status: 200, body: { sha256: ofNothing, verified: 'bytes' } });
});

t.test('a client that does not wait for the answer asks for it', async (t) => {
  const { client, stub, baseUrl } = await setUp(t, { stub: inParts });
  const planned = await client.plan({ size: small.length });
  await client.send(planned, small);
  const action = { kind: 'delay', ms: 300 } as const;
  stub.fault({ operation: 'CompleteMultipartUpload', times: 1, action });
  const impatient = fetch(`${baseUrl}${planned.location}/complete`, {
    method: 'POST',
    signal: AbortSignal.timeout(100),
  });
  await t.rejects(impatient);
  t.match(await client.complete(planned), { status: 200 }, 'it waits for the one before');
  t.match(await client.state(planned), { body: { state: 'complete' } });
  t.strictSame(await client.bytesOf(planned.id), small);
});

t.test('a store that is away', async (t) => {
  const { client, stub, rows, left } = await setUp(t);
  const planned = await client.plan({ size: twoParts.length, partBytes });
  await client.send(planned, twoParts);
  const action = { kind: 'error', status: 503, code: 'SlowDown' } as const;
  for (const operation of ['ListParts', 'CompleteMultipartUpload', 'HeadObject'] as const) {
    const fault = stub.fault({ operation, action: { kind: 'error', status: 403, code: 'AccessDenied' } });
    t.match(await client.complete(planned), { status: /^50[03]$/ }, operation);
    fault.remove();
  }
  const once = stub.fault({ operation: 'ListParts', times: 1, action });
  t.match(await client.complete(planned), { status: 200 });
  t.equal(once.hits, 1);
  const before = left().length;
  stub.fault({
    operation: 'PutObject',
    key: /_direct/,
    action: { ...action, status: 403, code: 'AccessDenied' },
  });
  t.match(await client.ask('POST', '/_f_/demo/direct', { name: 'x', size: twoParts.length, partBytes }), {
    status: 503,
  });
  while (left().length > before) await sleep(5);
  t.equal(rows.size, 1, 'and the upload without a plan is aborted');
});

t.test('a CRC of the whole file that the store has', async (t) => {
  const crc64nvme = 'AAAAAAAAAAQ=';
  const { store } = await openStubStore(t, { partBytes, deploymentId: testDeployment });
  const direct = store.direct as NonNullable<ObjectStore['direct']>;
  const withSums: ObjectStore = {
    ...store,
    direct: {
      ...direct,
      async inspect(...args) {
        const object = await direct.inspect(...args);
        return object && { ...object, crc64nvme };
      },
    },
  };
  const { baseUrl, rows } = await serveGatewayOn(t, withSums);
  const client = new DirectClient(baseUrl);
  for (const [sum, query, answer] of [
    [crc64nvme, '', { status: 200, body: { verified: 'checksum' } }],
    ['AAAAAAAAAAA=', '', { status: 400, body: { code: 'checksum_mismatch', message: /crc64nvme/ } }],
    ['AAAAAAAAAAA=', '?verify=bytes', { status: 400, body: { code: 'checksum_mismatch' } }],
  ] as const) {
    const planned = await client.plan({ size: small.length, crc64nvme: sum });
    await client.send(planned, small);
    t.match(await client.ask('POST', `${planned.location}/complete${query}`), answer);
  }
  t.equal(rows.size, 1);
});

t.test('a clock that is off', async (t) => {
  const { client, stub, log } = await setUp(t);
  const skewed = { kind: 'error', status: 403, code: 'RequestTimeTooSkewed' } as const;
  const operation = 'CreateMultipartUpload';
  await client.plan({ size: 1 });
  const once = stub.fault({ operation, times: 1, action: skewed });
  await client.plan({ size: twoParts.length, partBytes });
  t.equal(once.hits, 1, 'the gateway sets its clock by the answer');
  stub.fault({ operation, action: skewed });
  t.match(await client.ask('POST', '/_f_/demo/direct', { name: 'x', size: twoParts.length, partBytes }), {
    status: 503,
    body: { code: 'unavailable', message: /clock of this server is wrong.*RequestTimeTooSkewed/ },
  });
  t.match(log.failures.join(), /S3 refuses the time of this machine: set its clock/);
});

t.test('a quota that is used up between plan and completion', async (t) => {
  const { client } = await setUp(t, { limits: { files: 1, bytes: 2500 } });
  const [one, two] = [await client.plan({ size: 1000 }), await client.plan({ size: 1000 })];
  t.match(await client.ask('POST', '/_f_/demo/direct', { name: 'x', size: 1000 }), {
    status: 403,
    body: { code: 'quota_exceeded' },
  });
  await client.send(one, small);
  await client.send(two, small);
  t.equal((await client.complete(one)).status, 200);
  t.match(await client.complete(two), { status: 403, body: { code: 'quota_exceeded' } });
  t.match(await client.state(two), { body: { state: 'open' } });
  t.equal(await client.delete(one.id), 204);
  t.equal((await client.complete(two)).status, 200);
  t.strictSame(await client.bytesOf(two.id), small);
});

t.test('a plan that its completion could not remove is removed later, and counts no more', async (t) => {
  const { client, stub, plans, left } = await setUp(t, { limits: { files: 0, bytes: 1500 } });
  const planned = await client.plan({ size: small.length });
  await client.send(planned, small);
  const action = { kind: 'error', status: 403, code: 'AccessDenied' } as const;
  // one by one where the server does not know how to delete several
  const faults = (['DeleteObjects', 'DeleteObject'] as const).map((operation) =>
    stub.fault({ operation, action }),
  );
  t.equal((await client.complete(planned)).status, 200);
  await plans.settle();
  t.equal(left().length, 1);
  for (const fault of faults) fault.remove();
  t.match(await client.state(planned), { body: { state: 'complete' } });
  await plans.settle();
  t.strictSame(left(), []);
  await client.plan({ size: 500 });
});

t.test('a completion that reads for longer than its plan lasts makes no file without bytes', async (t) => {
  const { client, store, janitor, rows, cloudFiles, left } = await setUp(t);
  let reads = 0;
  const slow: ObjectStore = {
    ...store,
    async *read(...args) {
      reads++;
      yield* store.read(...args);
      await janitor();
    },
  };
  const other = await serveGatewayOn(t, slow, { expireAfter: day, rows: { rows, cloudFiles } });
  const planned = await client.plan({ size: small.length });
  await client.send(planned, small);
  const { location } = planned;
  t.match(await client.at(other.baseUrl).ask('POST', `${location}/complete?verify=bytes`), {
    status: 410,
    body: { code: 'upload_expired' },
  });
  t.equal(reads, 1);
  t.equal(rows.size, 0);
  t.strictSame(left(), []);
});

t.test('two completions at once, through two gateways that do not know of each other', async (t) => {
  const { client, stub, store, left, plans, rows, cloudFiles } = await setUp(t);
  const other = await serveGatewayOn(t, store, { expireAfter: day, rows: { rows, cloudFiles } });
  const second = client.at(other.baseUrl);
  for (const size of [small.length, twoParts.length]) {
    const bytes = twoParts.subarray(0, size);
    const planned = await client.plan({ size, partBytes });
    const sent = await client.send(planned, bytes);
    const answers = await Promise.all(
      [client, second, client, second].map((at) => at.complete(planned, sent)),
    );
    for (const { status, body } of answers) {
      t.equal(status, 200);
      t.match(body, { name: planned.id, size });
    }
    t.strictSame(await client.bytesOf(planned.id), bytes);

    const contested = await client.plan({ size, partBytes });
    await client.send(contested, bytes);
    const [done, dropped] = await Promise.all([client.complete(contested), second.drop(contested)]);
    if (done.status === 200) t.strictSame(await client.bytesOf(contested.id), bytes, 'acknowledged');
    else t.match([done.status, dropped.status], [404, 204]);
  }
  await plans.settle();
  await other.plans.settle();
  stub.age(day + longAfter);
  const options = { store, cloudFiles, plans, staleAfter: day, grace: 0 };
  await testJanitor(options).run({ dryRun: false });
  t.strictSame(left(), []);
});
