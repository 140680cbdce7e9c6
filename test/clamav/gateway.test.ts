/** Uploads of a whole server beside a real clamd: what is clean, what is found, and what is not scanned yet. */
import t, { type Test } from 'tap';
import { badSignature, badText, startClamd } from '../services/clamd.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';

const megabyte = 1024 * 1024;
const clamd = await startClamd();
t.teardown(() => clamd.stop());

interface FileJson {
  readonly name: string;
  readonly s3Link: string;
  readonly state?: string;
}

const good = (bytes: number) => Buffer.alloc(bytes, 'a harmless line\n');
const bad = (bytes: number) => {
  const content = good(bytes);
  content.write(badText, Math.floor(bytes * 0.7));
  return content;
};

function clientOf({ baseUrl, token }: Sluice) {
  const ask = (path: string, { headers, ...init }: RequestInit & { headers?: object } = {}) =>
    fetch(baseUrl + path, { ...init, headers: { authorization: `Bearer ${token}`, ...headers } });
  const file = async (response: Response) => ({
    status: response.status,
    body: (await response.json()) as FileJson & { readonly code?: string; readonly message?: string },
  });
  return {
    ask,
    file,
    form(content: Buffer, headers = {}) {
      const body = new FormData();
      body.set('file', new Blob([content as never]), 'a.bin');
      return ask('/_f_/demo/upload', { method: 'POST', body, headers }).then(file);
    },
    put: (content: Buffer, headers = {}) =>
      ask('/_f_/demo/a.bin', { method: 'PUT', body: content as never, headers }).then(file),
    tus: (content: Buffer) =>
      ask('/_f_/demo/resumable', {
        method: 'POST',
        body: content as never,
        headers: {
          'tus-resumable': '1.0.0',
          'upload-length': `${content.byteLength}`,
          'content-type': 'application/offset+octet-stream',
        },
      }),
    async direct(content: Buffer) {
      const planned = await ask('/_f_/demo/direct', {
        method: 'POST',
        body: JSON.stringify({ name: 'a.bin', size: content.byteLength }),
        headers: { 'content-type': 'application/json' },
      });
      const { location, parts } = (await planned.json()) as {
        location: string;
        parts: { url: string; offset: number; size: number; headers: Record<string, string> }[];
      };
      for (const { url, offset, size, headers } of parts)
        await fetch(url, { method: 'PUT', headers, body: content.subarray(offset, offset + size) as never });
      return { location, complete: () => ask(`${location}/complete`, { method: 'POST' }).then(file) };
    },
    status: async (path: string, init?: RequestInit) => (await ask(path, init)).status,
    anonymous: async (path: string) => (await fetch(baseUrl + path)).status,
    async names(query = '') {
      const list = (await (await ask(`/_f_/demo?limit=100${query}`)).json()) as { files?: FileJson[] };
      // a project without files does not exist
      return (list.files ?? []).map(({ name }) => name);
    },
    metric: async (name: string) =>
      Number(new RegExp(`^${name}\\S* (\\d+)$`, 'm').exec(await (await ask('/metrics')).text())?.[1]),
  };
}

const settings = { CLAMD_ADDRESS: clamd.text, METRICS_TOKEN: 'acceptance-token-0123456789abcdef' };

async function served(t: Test, env: Record<string, string> = {}) {
  const sluice = await sluiceFor(t, { env: { ...settings, ...env } });
  return { sluice, ...clientOf(sluice) };
}

t.test('each way of uploading takes clean files and refuses others', async (t) => {
  const { form, put, tus, direct, status, anonymous, names, ask, metric } = await served(t);
  const ways = {
    form: (content: Buffer) => form(content),
    put: (content: Buffer) => put(content),
    direct: async (content: Buffer) => (await direct(content)).complete(),
  };
  for (const [way, upload] of Object.entries(ways))
    for (const size of [1000, 20 * megabyte]) {
      const { status: answered, body } = await upload(good(size));
      t.equal(answered, 200, `${way} of ${size}`);
      t.equal(body.state, undefined);
      t.equal(await anonymous(`/_f_/demo/${body.name}`), 200);
      const refused = await upload(bad(size));
      t.match(refused, { status: 422, body: { code: 'file_refused' } }, `${way} of ${size}`);
      t.match(refused.body.message, badSignature);
    }
  t.equal((await tus(good(1000))).status, 201);
  t.match(await tus(bad(1000)), { status: 422 });
  t.equal((await names()).length, 7);
  const refused = await names('&hidden=refused');
  t.equal(refused.length, 7);
  for (const name of refused) {
    t.equal(await status(`/_f_/demo/${name}`), 404, 'downloaded by nobody');
    t.equal(await anonymous(`/_f_/demo/${name}`), 404);
  }
  t.equal(await status(`/_f_/demo/${refused[0]}`, { method: 'DELETE' }), 204);
  t.equal((await names('&hidden=refused')).length, 6);
  t.equal((await ask('/_f_/demo?hidden=checking')).status, 200);
  t.equal(await metric('sluice_scans_total{result="found"'), 7);
});

t.test('a repeated upload with a key is refused again, and stored once', async (t) => {
  const { form, names } = await served(t);
  const headers = { 'idempotency-key': 'one' };
  t.match(await form(bad(1000), headers), { status: 422 });
  t.match(await form(bad(1000), headers), { status: 422, body: { code: 'file_refused' } });
  t.equal((await names('&hidden=refused')).length, 1);
});

t.test('a refused file counts as a use of its link', async (t) => {
  const { ask, sluice } = await served(t);
  const made = await ask('/_f_/demo/upload-link', {
    method: 'POST',
    body: JSON.stringify({ expiresIn: 600, times: 1 }),
    headers: { 'content-type': 'application/json' },
  });
  const { form: url } = (await made.json()) as { form: string };
  t.equal(made.status, 200);
  const send = async (content: Buffer) => {
    const body = new FormData();
    body.set('file', new Blob([content as never]), 'a.bin');
    return (await fetch(new URL(url, sluice.baseUrl), { method: 'POST', body })).status;
  };
  t.equal(await send(bad(1000)), 422);
  t.equal(await send(good(1000)), 403);
});

t.test('SCAN_POLICY says what happens while the scanner is away', async (t) => {
  t.teardown(() => clamd.start());
  const holding = await served(t, { SCAN_POLICY: 'hold' });
  const refusing = await served(t, { SCAN_POLICY: 'refuse' });
  const publishing = await served(t, { SCAN_POLICY: 'publish' });
  await clamd.kill();

  const held = await holding.form(good(1000));
  t.match(held, { status: 200, body: { state: 'checking' } });
  const path = `/_f_/demo/${held.body.name}`;
  const seen = await holding.ask(path);
  t.equal(seen.status, 200, 'its uploader sees it');
  t.equal(seen.headers.get('cache-control'), 'private, no-store');
  t.equal(await holding.anonymous(path), 404);
  t.same(await holding.names(), []);
  t.same(await holding.names('&hidden=checking'), [held.body.name]);

  t.match(await refusing.form(good(1000)), { status: 503, body: { code: 'unavailable' } });
  t.match(await refusing.put(good(20 * megabyte)), { status: 503 });
  t.match(await (await refusing.direct(good(1000))).complete(), { status: 200, body: { state: 'checking' } });
  t.same(await refusing.names(), []);

  t.match(await publishing.form(good(1000)), { status: 200, body: { state: undefined } });
  t.match(await (await publishing.direct(good(1000))).complete(), {
    status: 200,
    body: { state: undefined },
  });
  t.equal((await publishing.names()).length, 2);

  const malware = await holding.form(bad(1000));
  t.match(malware, { status: 200, body: { state: 'checking' } });
  await holding.sluice.kill();
  await clamd.start();
  const again = clientOf(await holding.sluice.restart());
  // the list follows the rows
  const settled = async () =>
    (await again.names()).length === 1 && (await again.names('&hidden=refused')).length === 1;
  while (!(await settled())) await new Promise((next) => setTimeout(next, 100));
  t.same(await again.names(), [held.body.name], 'scanned after a restart');
  t.same(await again.names('&hidden=refused'), [malware.body.name]);
  t.equal(await again.anonymous(path), 200);
  await clamd.kill();
});

t.test('a file that is too large is refused, held, or published', async (t) => {
  const env = { SCAN_MAX_BYTES: '100000' };
  const refusing = await served(t, { ...env, SCAN_POLICY: 'refuse' });
  t.match(await refusing.form(good(200_000)), { status: 413, body: { code: 'payload_too_large' } });
  t.match(await refusing.put(good(200_000)), { status: 413 });
  t.equal((await refusing.tus(good(200_000))).status, 413);
  const plan = { method: 'POST', body: JSON.stringify({ name: 'a', size: 200_000 }) };
  const json = { 'content-type': 'application/json' };
  t.equal((await refusing.ask('/_f_/demo/direct', { ...plan, headers: json })).status, 413);
  const publishing = await served(t, { ...env, SCAN_POLICY: 'publish' });
  t.match(await publishing.put(good(200_000)), { status: 200, body: { state: undefined } });
  const holding = await served(t, env);
  const held = await holding.put(good(200_000));
  t.match(held, { status: 200, body: { state: 'checking' } });
  t.match(await (await holding.direct(good(200_000))).complete(), {
    status: 200,
    body: { state: 'checking' },
  });
});
