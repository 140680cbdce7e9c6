import t, { type Test } from 'tap';
import { unobserved } from '#kernel/telemetry/observe-call.ts';
import { s3Address } from '#objects/s3/s3-address.ts';
import { connectS3 } from '#objects/s3/s3-client.ts';
import { createS3Presigner, type PresignRequest } from '#objects/s3/s3-presigner.ts';
import { silentLog } from '../services/silent-log.ts';
import { storeObject } from '../services/store-object.ts';
import { openStubStore, type StubStore } from '../services/stub-store.ts';

const never = new AbortController().signal;
const asked = {
  contentType: 'text/plain; charset=utf-8',
  contentDisposition: `attachment; filename="a b.txt"; filename*=UTF-8''%C3%A4.txt`,
  cacheControl: 'private',
  lifetime: 60,
};

async function stored(t: Test, options: Parameters<typeof openStubStore>[1] = {}) {
  const opened = await openStubStore(t, options);
  await storeObject(opened.store, 'o/p/a b+ü', Buffer.from('0123456789'));
  const read = (more: Partial<typeof asked> = {}) =>
    opened.store.direct?.readAddress('o/p/a b+ü', { ...asked, ...more }, never) ?? '';
  return { ...opened, read };
}

/** Presigns as the store does, on a clock that is off by some milliseconds. */
function presignerOf(t: Test, { stub }: StubStore, off = 0) {
  const { bucket, endpoint, region, accessKeyId, secretAccessKey } = stub;
  const place = { bucket, endpoint, region, forcePathStyle: true };
  const { client, agent } = connectS3({
    ...place,
    credentials: { accessKeyId, secretAccessKey },
    maxSockets: 1,
    timing: { connect: 1000 },
    log: silentLog(),
    observe: unobserved,
  });
  t.teardown(() => {
    client.destroy();
    agent.destroy();
  });
  client.config.systemClockOffset = off;
  const address = s3Address(client.config, place);
  const presign = createS3Presigner({ client, address, timing: { request: 1000 } });
  return (request: Partial<PresignRequest>) =>
    presign({ method: 'GET', key: 'o/p/a b+ü', query: {}, headers: {}, lifetime: 60, ...request }, never);
}

t.test('an address reads the object and ranges of it, with our headers', async (t) => {
  const { read } = await stored(t);
  const url = await read();
  const whole = await fetch(url);
  t.equal(whole.status, 200);
  t.equal(await whole.text(), '0123456789');
  t.equal(whole.headers.get('content-type'), asked.contentType);
  t.equal(whole.headers.get('content-disposition'), asked.contentDisposition);
  t.equal(whole.headers.get('cache-control'), 'private');
  const range = await fetch(url, { headers: { range: 'bytes=2-4' } });
  t.strictSame([range.status, await range.text()], [206, '234']);
});

t.test('an address is good for its request only', async (t) => {
  const { read } = await stored(t);
  const url = await read();
  const status = async (address: string, init?: RequestInit) => (await fetch(address, init)).status;
  t.equal(await status(url.replace('a%20b', 'a%20c')), 403, 'another key');
  t.equal(await status(url.replace('X-Amz-Expires=60', 'X-Amz-Expires=61')), 403, 'a longer life');
  t.equal(await status(url.replace('attachment', 'inline')), 403, 'another disposition');
  t.equal(await status(url, { method: 'HEAD' }), 403, 'HEAD');
  t.equal(await status(url, { method: 'DELETE' }), 403, 'DELETE');
});

t.test('an address ends', async (t) => {
  const opened = await stored(t);
  const status = async (off: number) => {
    const { url } = await presignerOf(t, opened, off)({ lifetime: 60 });
    return (await fetch(url)).status;
  };
  t.equal(await status(-30_000), 200);
  t.equal(await status(-61_000), 403);
});

t.test('headers that are signed have to be sent', async (t) => {
  const opened = await stored(t);
  const headers = { 'content-type': 'text/csv', 'x-amz-meta-owner': 'o' };
  const { url, headers: needed } = await presignerOf(t, opened)({ method: 'PUT', key: 'o/p/new', headers });
  t.strictSame(needed, headers);
  t.equal((await fetch(url, { method: 'PUT', body: 'x' })).status, 403);
  const wrong = { ...headers, 'content-type': 'text/html' };
  t.equal((await fetch(url, { method: 'PUT', body: 'x', headers: wrong })).status, 403);
  t.equal((await fetch(url, { method: 'PUT', body: 'x', headers })).status, 200);
  t.match(opened.stub.objects().find(({ key }) => key === 'o/p/new')?.metadata, { owner: 'o' });
});

t.test('addresses name the public endpoint', async (t) => {
  const { read } = await stored(t, { publicEndpoint: 'https://objects.example.com/s3' });
  const url = await read();
  t.ok(url.startsWith('https://objects.example.com/s3/stub-bucket/o/p/a%20b%2B%C3%BC?'), url);
});
