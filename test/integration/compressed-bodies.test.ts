/** Bodies of JSON that are compressed: what they may come to, and what they are refused for. */
import { randomBytes } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t, { env: { MAX_RECORDS_BYTES: '2000000' } });
const structure = structureOf('demo', 'people', fieldsOf('name TEXT'));

async function send(
  body: Uint8Array,
  coding: string,
): Promise<{ status: number; code?: string; headers: Headers }> {
  const headers = {
    authorization: `Bearer ${sluice.token}`,
    'content-type': 'application/json',
    'content-encoding': coding,
    structure,
  };
  const answer = await fetch(`${sluice.baseUrl}/demo/people`, {
    method: 'POST',
    headers,
    body: Buffer.from(body),
  });
  const { status } = answer;
  const { code } = (await answer.json()) as { code?: string };
  return { status, headers: answer.headers, ...(code === undefined ? {} : { code }) };
}

const people = (count: number, name = 'x'): Buffer =>
  Buffer.from(JSON.stringify(Array.from({ length: count }, (_, at) => ({ name: `${name}${at}` }))));

t.test('gzip and deflate', async (t) => {
  for (const [coding, body] of [
    ['gzip', gzipSync(people(1))],
    ['x-gzip', gzipSync(people(1))],
    ['Deflate', deflateSync(people(1))],
    ['identity', people(1)],
    ['gzip', gzipSync(people(20_000))],
  ] as const)
    t.equal((await send(body, coding)).status, 200, coding);
  const count = await call({ ...sluice, path: '/demo/people/_count_', structure });
  t.strictSame(count.body, { count: 4 + 20_000 });
});

t.test('what is refused', async (t) => {
  for (const [what, body, coding, status, code] of [
    ['another coding', people(1), 'br', 415, 'unsupported_media_type'],
    ['two of them', gzipSync(people(1)), 'gzip, gzip', 415, 'unsupported_media_type'],
    ['no gzip', people(1), 'gzip', 400, 'invalid_body'],
    ['half of it', gzipSync(people(100)).subarray(0, 60), 'gzip', 400, 'invalid_body'],
    ['no JSON', gzipSync('hello'), 'gzip', 400, 'invalid_body'],
    ['nothing', gzipSync(''), 'gzip', 400, 'invalid_body'],
    ['too much', gzipSync(Buffer.alloc(100_000_000, ' ')), 'gzip', 413, 'payload_too_large'],
    ['too much as it comes', gzipSync(randomBytes(3_000_000)), 'gzip', 413, 'payload_too_large'],
  ] as const) {
    const answer = await send(body, coding);
    t.match(answer, { status, code }, what);
    if (status === 415) t.match(answer.headers.get('accept-encoding'), /^gzip, deflate/);
  }
});

t.test('a form is stored as it is sent', async (t) => {
  const form = new FormData();
  form.set('file', new Blob(['x']), 'x.txt');
  const answer = await fetch(`${sluice.baseUrl}/_f_/demo/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sluice.token}`, 'content-encoding': 'gzip' },
    body: form,
  });
  t.equal(answer.status, 415);
  t.equal(answer.headers.get('accept-encoding'), 'identity');
});
