/** Uploads whose bytes clients send by addresses of a plan: on the file system, through the gateway itself. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { crc32c } from '#objects/crc32c.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { testJanitor } from '../services/test-janitor.ts';

const mebibyte = 1024 * 1024;
const partBytes = 5 * mebibyte;

interface Part {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  readonly url: string;
  readonly headers: Record<string, string>;
}

async function setUp(t: Test, options: Parameters<typeof serveGatewayOn>[2] = {}) {
  const root = t.testdir();
  const files = await createFileSystemStore({ root });
  const hooks = { beforeRead: async (_key: string): Promise<void> => {} };
  const store: ObjectStore = {
    ...files,
    async *read(key, range, signal) {
      await hooks.beforeRead(key);
      yield* files.read(key, range, signal);
    },
  };
  const gateway = await serveGatewayOn(t, store, { maxUploadBytes: 20 * mebibyte, ...options });
  const { baseUrl, cloudFiles, plans } = gateway;
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(path.startsWith('http') ? path : baseUrl + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : JSON.parse(text),
    };
  };
  const plan = async (wanted: object) => {
    const { status, body, headers } = await ask('POST', '/_f_/demo/direct', wanted);
    t.equal(status, 201, JSON.stringify(body));
    t.equal(headers.get('location'), body.location);
    return body as { id: string; location: string; partBytes: number; partCount: number; parts: Part[] };
  };
  const put = ({ url, headers }: Part, bytes: Uint8Array) =>
    fetch(url, { method: 'PUT', body: bytes, headers });
  /** Sends all parts. */
  const send = async (parts: readonly Part[], bytes: Buffer) => {
    const sent = [];
    for (const part of parts) {
      const response = await put(part, bytes.subarray(part.offset, part.offset + part.size));
      t.equal(response.status, 200, await response.text());
      sent.push({ number: part.number, etag: response.headers.get('etag') ?? '' });
    }
    return sent;
  };
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of store.list('', new AbortController().signal)) found.push(key);
    return found;
  };
  const janitor = (staleAfter = 0) =>
    testJanitor({ store, cloudFiles, plans, staleAfter, grace: 0 }).run({ dryRun: false });
  const bytesOf = async (id: string) =>
    Buffer.from(await (await fetch(`${baseUrl}/_f_/demo/${id}`)).arrayBuffer());
  return { ...gateway, store, hooks, ask, plan, put, send, keys, janitor, bytesOf };
}

t.test('a file of three parts', async (t) => {
  const { plan, send, ask, bytesOf, rows, plans, keys } = await setUp(t);
  const bytes = randomBytes(2 * partBytes + 7);
  const planned = await plan({ name: 'ä film.mp4', size: bytes.length, partBytes });
  t.match(planned, {
    partBytes,
    partCount: 3,
    parts: [{ number: 1, offset: 0, size: partBytes }, {}, { size: 7 }],
  });
  const early = await ask('POST', `${planned.location}/complete`);
  t.match(early, {
    status: 409,
    body: { code: 'upload_conflict', error: ['Part 1 has not arrived', /Part 2/, /Part 3/] },
  });
  const sent = await send(planned.parts, bytes);
  const state = await ask('GET', `${planned.location}?uploaded=true&parts=2-3`);
  t.match(state.body, {
    state: 'open',
    uploaded: [{ number: 1, size: partBytes }, {}, { size: 7 }],
    parts: [{ number: 2 }, {}],
  });
  const done = await ask('POST', `${planned.location}/complete`, { parts: sent });
  t.match(done, {
    status: 200,
    body: {
      name: planned.id,
      originalName: 'ä film.mp4',
      contentType: 'video/mp4',
      size: bytes.length,
      verified: 'size',
    },
  });
  t.equal(rows.size, 1);
  t.ok((await bytesOf(planned.id)).equals(bytes));
  t.strictSame(
    (await ask('POST', `${planned.location}/complete`)).body,
    done.body,
    'the same completion twice',
  );
  t.match(await ask('GET', planned.location), { status: 200, body: { state: 'complete', file: done.body } });
  await plans.settle();
  t.strictSame(await keys(), [[...rows.values()][0]?.objectKey], 'nothing else is left');
  t.strictSame((await ask('POST', `${planned.location}/complete`)).body, done.body, 'without its plan');
  t.match(await ask('DELETE', planned.location), { status: 409, body: { code: 'upload_conflict' } });
});

t.test('digests', async (t) => {
  const { plan, send, ask, put, rows } = await setUp(t);
  const bytes = randomBytes(partBytes + 10);
  const md5 = (part: Buffer) => createHash('md5').update(part).digest('base64');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32c(bytes));
  const partMd5 = [md5(bytes.subarray(0, partBytes)), md5(bytes.subarray(partBytes))];
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const whole = { size: bytes.length, partBytes };

  const bound = await plan({ name: 'a.bin', ...whole, partMd5 });
  const [first] = bound.parts as [Part];
  const wrong = await put(first, randomBytes(first.size));
  t.equal(wrong.status, 400, 'other bytes than planned');
  const unbound = await put({ ...first, headers: {} }, bytes.subarray(0, partBytes));
  t.equal(unbound.status, 403, 'the MD5 is part of the signature');
  await send(bound.parts, bytes);
  t.match(await ask('POST', `${bound.location}/complete`), { status: 200, body: { verified: 'md5' } });

  const crc = sum.toString('base64');
  const read = await plan({ name: 'b.bin', ...whole, sha256, crc32c: crc });
  await send(read.parts, bytes);
  const verified = await ask('POST', `${read.location}/complete?verify=bytes`);
  t.match(verified, { status: 200, body: { verified: 'bytes', sha256 } });

  const other = await plan({ name: 'c.bin', ...whole, crc32c: crc });
  await send(other.parts, randomBytes(bytes.length));
  const refused = await ask('POST', `${other.location}/complete?verify=bytes`);
  t.match(refused, { status: 400, body: { code: 'checksum_mismatch' } });
  t.equal((await ask('GET', other.location)).status, 404, 'and the upload is over');
  t.equal(rows.size, 2);

  for (const [body, problem] of [
    [{ name: 'x', ...whole, partMd5: partMd5.slice(1) }, /partMd5 has 1 digests/],
    [{ name: 'x', size: -1 }, /size/],
    [{ name: 'x', size: 1, crc32c: 'AAAA' }, /crc32c/],
    [{ name: 'x', size: 1, sha265: 'AAAA' }, /sha265/],
    [{ name: '\ud800', size: 1 }, /name/],
    [[], /JSON object/],
  ] as const)
    t.match(await ask('POST', '/_f_/demo/direct', body), {
      status: 400,
      body: { code: 'invalid_body', error: [problem] },
    });
});

t.test('an empty file', async (t) => {
  const { plan, ask, bytesOf } = await setUp(t);
  const planned = await plan({ name: 'e.txt', size: 0 });
  t.strictSame(planned.parts, []);
  t.match(await ask('POST', `${planned.location}/complete`), { status: 200, body: { size: 0 } });
  t.equal((await bytesOf(planned.id)).length, 0);
});

t.test('what is dropped, refused or deleted does not come back', async (t) => {
  const { plan, send, ask, put, keys, rows, janitor, plans, baseUrl } = await setUp(t);
  const bytes = randomBytes(100);
  const dropped = await plan({ name: 'd.bin', size: 100 });
  await send(dropped.parts, bytes);
  t.equal((await ask('DELETE', dropped.location)).status, 204);
  t.equal((await ask('GET', dropped.location)).status, 404);
  t.equal((await ask('POST', `${dropped.location}/complete`)).status, 404);
  t.equal((await put(dropped.parts[0] as Part, bytes)).status, 404);

  const deleted = await plan({ name: 'f.bin', size: 100 });
  await send(deleted.parts, bytes);
  t.equal((await ask('POST', `${deleted.location}/complete`)).status, 200);
  t.equal((await fetch(`${baseUrl}/_f_/demo/${deleted.id}`, { method: 'DELETE' })).status, 204);
  t.equal((await put(deleted.parts[0] as Part, bytes)).status, 404);
  t.equal((await ask('POST', `${deleted.location}/complete`)).status, 404);
  await plans.settle();
  await janitor();
  t.equal(rows.size, 0);
  t.strictSame(
    (await keys()).filter((key) => !key.endsWith('!closed')),
    [],
  );
});

t.test('an object without a row belongs to its plan, and goes with it', async (t) => {
  const { plan, send, ask, state, rows, keys, janitor, plans } = await setUp(t, { expireAfter: 60_000 });
  const bytes = randomBytes(100);
  const planned = await plan({ name: 'f.bin', size: 100 });
  await send(planned.parts, bytes);
  state.failRows = true;
  t.equal((await ask('POST', `${planned.location}/complete`)).status, 500);
  state.failRows = false;
  await janitor(60_000);
  t.equal(rows.size, 0, 'the janitor makes no row: nobody has acknowledged the file');
  t.equal((await ask('POST', `${planned.location}/complete`)).status, 200, 'a later completion does');
  t.equal(rows.size, 1);
  await plans.settle();
  t.equal((await keys()).length, 1);
});

t.test('parts that are sent again after a completion that failed', async (t) => {
  const { plan, send, put, ask, state, rows, bytesOf, hooks } = await setUp(t);
  const bytes = randomBytes(100);
  const planned = await plan({ name: 'f.bin', size: 100 });
  await send(planned.parts, bytes);
  state.failRows = true;
  t.equal((await ask('POST', `${planned.location}/complete`)).status, 500);
  state.failRows = false;
  // of the same millisecond it would be the same part
  await new Promise((resolve) => setTimeout(resolve, 20));
  const etag = (await put(planned.parts[0] as Part, randomBytes(100))).headers.get('etag');
  const complete = () => ask('POST', `${planned.location}/complete`, { parts: [{ number: 1, etag }] });
  t.match(await complete(), {
    status: 409,
    body: { code: 'upload_conflict', error: [/Part 1 was sent again/] },
  });
  t.equal(rows.size, 0, 'the file would have the bytes of before');

  const other = await plan({ name: 'g.bin', size: 2 * partBytes, partBytes });
  const content = randomBytes(2 * partBytes);
  await send(other.parts, content);
  hooks.beforeRead = async (key) => {
    if (key.endsWith('!2')) await put(other.parts[1] as Part, randomBytes(partBytes));
  };
  t.match(await ask('POST', `${other.location}/complete`), {
    status: 409,
    body: { error: [/Part 2 was sent again/] },
  });
  hooks.beforeRead = async () => {};
  await send(other.parts, content);
  t.equal((await ask('POST', `${other.location}/complete`)).status, 200);
  t.ok((await bytesOf(other.id)).equals(content));
});

t.test('expired plans', async (t) => {
  const { plan, ask } = await setUp(t, { expireAfter: 1 });
  const planned = await plan({ name: 'f.bin', size: 100 });
  await new Promise((resolve) => setTimeout(resolve, 10));
  t.match(await ask('GET', planned.location), { status: 410, body: { code: 'upload_expired' } });
  t.match(await ask('POST', `${planned.location}/complete`), { status: 410 });
  const [part] = planned.parts as [Part];
  t.equal((await fetch(part.url, { method: 'PUT', body: randomBytes(100) })).status, 410);
});

t.test('addresses', async (t) => {
  const { plan, put, ask } = await setUp(t);
  const planned = await plan({ name: 'f.bin', size: 100 });
  const [part] = planned.parts as [Part];
  t.equal((await put(part, randomBytes(99))).status, 400, 'another length');
  const altered = (change: (url: URL) => void) => {
    const url = new URL(part.url);
    change(url);
    return put({ ...part, url: url.href }, randomBytes(100));
  };
  t.equal((await altered((url) => url.searchParams.set('size', '99'))).status, 403);
  t.equal((await altered((url) => url.searchParams.set('expires', '9999999999'))).status, 403);
  t.equal((await altered((url) => url.searchParams.set('owner', randomUUID()))).status, 403);
  t.equal((await altered((url) => url.searchParams.delete('signature'))).status, 403);
  t.equal((await put({ ...part, url: part.url.replace('/1?', '/2?') }, randomBytes(100))).status, 403);
  for (const parts of ['0', '2-1', '1-101', 'x', '1-20000'])
    t.equal((await ask('GET', `${planned.location}?parts=${parts}`)).status, 400, parts);
  t.strictSame((await ask('GET', `${planned.location}?parts=2-9`)).body.parts, []);
  t.equal((await ask('GET', planned.location, undefined, { 'test-owner': randomUUID() })).status, 404);
  t.equal(
    (await ask('POST', `${planned.location}/complete`, undefined, { 'test-owner': randomUUID() })).status,
    404,
  );
  t.equal((await ask('DELETE', planned.location, undefined, { 'test-owner': randomUUID() })).status, 404);
});

t.test('quota and open plans', async (t) => {
  const { plan, ask } = await setUp(t, { limits: { files: 0, bytes: 1000 }, maxOpenUploads: 3 });
  const first = await plan({ name: 'a', size: 900 });
  t.match(await ask('POST', '/_f_/demo/direct', { name: 'b', size: 200 }), {
    status: 403,
    body: { code: 'quota_exceeded' },
  });
  t.equal((await ask('DELETE', first.location)).status, 204);
  await plan({ name: 'b', size: 200 });
  await plan({ name: 'b', size: 200 });
  await plan({ name: 'b', size: 200 });
  t.match(await ask('POST', '/_f_/demo/direct', { name: 'b', size: 1 }), {
    body: { code: 'too_many_uploads' },
  });
});

t.test('two completions at once', async (t) => {
  const { plan, send, ask, rows } = await setUp(t);
  const planned = await plan({ name: 'f.bin', size: 100 });
  await send(planned.parts, randomBytes(100));
  const answers = await Promise.all([1, 2, 3].map(() => ask('POST', `${planned.location}/complete`)));
  for (const { status, body } of answers) {
    t.equal(status, 200);
    t.strictSame(body, answers[0]?.body);
  }
  t.equal(rows.size, 1);
});

t.test('options', async (t) => {
  const { ask } = await setUp(t);
  t.match(await ask('GET', '/_f_/demo/options'), {
    status: 200,
    body: { maxUploadBytes: 20 * mebibyte, direct: { origin: null, smallestPartBytes: partBytes } },
  });
});
