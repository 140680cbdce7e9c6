/** Answers that are compressed, and those that are not, of a process as it runs. */
import assert from 'node:assert/strict';
import { request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { bestCoding as best, decode } from '../services/decode.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';

interface Got {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  /** As it came. */
  readonly bytes: Buffer;
  readonly text: string;
}

const structure = structureOf('demo', 'people', fieldsOf('name TEXT', 'age NUMBER'));
const kept = await sluiceFor(t);
const streams = await sluiceFor(t, {
  env: { RECORD_CACHE_BYTES: '0', CORS_ORIGINS: 'https://app.example' },
});
const off = await sluiceFor(t, { env: { COMPRESS_ANSWERS: 'false' } });

/** A request by the plain client, which decodes nothing. */
async function get(
  { baseUrl, token }: Sluice,
  path: string,
  headers: Record<string, string | undefined> = {},
  { method = 'GET', body = '' } = {},
): Promise<Got> {
  const given = { authorization: `Bearer ${token}`, structure, ...headers };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    send(baseUrl + path, { method, headers: { ...set, 'content-length': body.length } as never })
      .on('error', reject)
      .on('response', async (answer) => {
        const bytes = await buffer(answer);
        const coding = method === 'HEAD' ? undefined : answer.headers['content-encoding'];
        const plain = decode(bytes, coding);
        resolve({ status: answer.statusCode as number, headers: answer.headers, bytes, text: `${plain}` });
      })
      .end(body);
  });
}

async function fill(sluice: Sluice, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, age) => ({ name: `Ada ${age * 7919}`, age }));
  const headers = { 'content-type': 'application/json', 'auto-create-project': 'true' };
  const made = await get(
    sluice,
    '/demo/people',
    { ...headers, 'auto-create-record-space': 'true' },
    { method: 'POST', body: JSON.stringify(records) },
  );
  assert.equal(made.status, 200, made.text.slice(0, 300));
}

await Promise.all([fill(kept, 2000), fill(streams, 20_000), fill(off, 100)]);

t.test('what the client accepts decides', async (t) => {
  const accepts = [
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', best],
    ['', undefined],
    ['GZip;Q=0.5', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'gzip'],
    ['gzip;q=1.0, zstd;q=0.9', 'gzip'],
    ['*', best],
    ['gzip;q=0, *;q=0.1', best === 'gzip' ? undefined : best],
    ['identity;q=0, *', best],
    ['identity, gzip;q=0.5', undefined],
    ['gzip;q=0.000', undefined],
    ['gzip;q=2', undefined],
    ['gzip;x=1', undefined],
    ['br, deflate', undefined],
    ['*;q=0', undefined],
    [';;,,=', undefined],
  ] as const;
  for (const [path, asked] of [
    ['/demo/people?$limit=60', accepts],
    // what is accepted is read before the answer is
    ['/demo/people?$limit=1000', accepts.slice(0, 3)],
    ['/demo/people?$limit=2000&$sort=-age', accepts.slice(0, 3)],
  ] as const) {
    const plain = await get(kept, path);
    t.equal(plain.headers['content-encoding'], undefined);
    t.equal(plain.headers.vary, 'Accept-Encoding');
    // the third time it comes from those that are kept
    for (const [accepted, coding] of asked)
      for (const time of [1, 2, 3]) {
        const got = await get(kept, path, { 'accept-encoding': accepted });
        t.equal(got.headers['content-encoding'], coding, `${path} ${accepted} ${time}`);
        t.equal(got.headers.vary, 'Accept-Encoding');
        t.equal(got.headers['content-length'], `${got.bytes.length}`);
        t.ok(got.text === plain.text, 'the same text');
        if (coding !== undefined) t.ok(got.bytes.length < plain.bytes.length / 2);
      }
  }
});

t.test('a kept answer changes with its records', async (t) => {
  const gzip = { 'accept-encoding': 'gzip' };
  const path = '/demo/people?$sort=age&$limit=1000';
  for (let round = 0; round < 5; round++) {
    const body = JSON.stringify({ name: `changed ${round}`, age: 0 });
    const changed = await get(kept, '/demo/people/update?age=0', gzip, { method: 'POST', body });
    t.equal(changed.status, 200, changed.text);
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(kept, path, gzip)));
    for (const { text, headers } of answers) {
      t.equal(headers['content-encoding'], 'gzip');
      t.match(JSON.parse(text)[0], { name: `changed ${round}` });
    }
  }
});

t.test('HEAD has the headers of GET', async (t) => {
  for (const [sluice, path] of [
    [kept, '/demo/people?$limit=60'],
    [kept, '/demo/people?$limit=1000'],
    [streams, '/demo/people?age[gte]=0'],
  ] as const)
    for (const accepted of ['gzip', undefined]) {
      const ask = { 'accept-encoding': accepted };
      const of = ({ status, headers }: Got) => ({
        status,
        headers: ['content-length', 'content-encoding', 'vary', 'content-type'].map((name) => headers[name]),
      });
      t.strictSame(of(await get(sluice, path, ask, { method: 'HEAD' })), of(await get(sluice, path, ask)));
    }
});

t.test('streamed lists', async (t) => {
  const gzip = { 'accept-encoding': 'gzip' };
  const path = '/demo/people?age[gte]=0&$sort=age';
  const plain = await get(streams, path);
  t.equal(plain.headers['transfer-encoding'], 'chunked');
  t.equal(JSON.parse(plain.text).length, 20_000);
  const cut = async (): Promise<void> =>
    new Promise((resolve) => {
      send(streams.baseUrl + path, {
        headers: { authorization: `Bearer ${streams.token}`, structure, ...gzip },
      })
        .on('response', (answer) => {
          t.equal(answer.headers['content-encoding'], 'gzip');
          answer.once('data', () => answer.destroy()).once('close', resolve);
        })
        .on('error', () => resolve())
        .end();
    });
  // more than the streams of an account
  for (let round = 0; round < 12; round++) await cut();
  const got = await Promise.all(Array.from({ length: 8 }, () => get(streams, path, gzip)));
  for (const { headers, text, bytes } of got) {
    t.ok(text === plain.text, 'the same text');
    t.ok(headers['content-encoding'] !== 'gzip' || bytes.length < plain.bytes.length / 3);
  }
  t.ok(
    got.some(({ headers }) => headers['content-encoding'] === 'gzip'),
    'those that were cut hold nothing',
  );
  const crowd = await Promise.all(Array.from({ length: 12 }, () => get(streams, path, gzip)));
  t.ok(
    crowd.every(({ text }) => text === plain.text),
    'with or without',
  );
  const refused = await get(streams, '/demo/people?age[gte]=x', gzip);
  t.equal(refused.status, 400, 'what is refused before its first byte has its status');
});

t.test('beside CORS', async (t) => {
  const origin = 'https://app.example';
  const { headers } = await get(streams, '/demo/people', { origin, 'accept-encoding': 'gzip' });
  t.match(headers, { vary: 'Origin, Accept-Encoding', 'content-encoding': 'gzip' });
});

t.test('other answers', async (t) => {
  const ask = { 'accept-encoding': 'gzip, zstd' };
  const events = { ...ask, accept: 'text/event-stream' };
  for (const [what, got] of [
    ['a record', await get(kept, '/demo/people/_single_?age=7', ask)],
    ['an empty list', await get(kept, '/demo/people?age=-7', ask)],
    ['an error', await get(kept, `/demo/people?${'x'.repeat(2000)}=1`, ask)],
    ['an export', await get(kept, '/demo/people/_export_.json', ask)],
    ['what is switched off', await get(off, '/demo/people', ask)],
  ] as const) {
    t.equal(got.headers['content-encoding'], undefined, what);
    t.equal(got.headers.vary, what === 'an error' ? 'Accept' : undefined, what);
  }
  const live = await fetch(`${kept.baseUrl}/demo/people?age[lt]=500`, {
    headers: { authorization: `Bearer ${kept.token}`, structure, ...events },
  });
  t.equal(live.headers.get('content-encoding'), null);
  await live.body?.cancel();
  for (const [path, vary] of [
    ['/openapi.json', 'Accept, Accept-Encoding'],
    ['/_docs_/swagger-ui-bundle.js', 'Accept-Encoding'],
    ['/_f_/demo', undefined],
  ] as const) {
    const got = await get(kept, path, ask);
    t.equal(got.status, 200, got.text.slice(0, 300));
    t.match(got.headers, vary === undefined ? {} : { vary, 'content-encoding': best }, path);
    t.ok(got.text === (await get(kept, path)).text);
  }
});
