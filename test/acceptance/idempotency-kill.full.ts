/** kill -9 between an effect and its answer: the same Idempotency-Key then gets the answer, and nothing is there twice. */
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { type Sluice, sluiceFor } from '../services/start-sluice.ts';

const structure = structureOf('p', 'notes', fieldsOf('text TEXT'));
const requests = {
  insertOne: {
    method: 'POST',
    path: '/p/notes/_single_',
    body: '{"text":"the one record"}',
    type: 'application/json',
  },
  insert: {
    method: 'POST',
    path: '/p/notes',
    body: '[{"text":"one of two"},{"text":"two of two"}]',
    type: 'application/json',
  },
  put: { method: 'PUT', path: '/_f_/p/put.txt', body: 'the bytes', type: 'text/plain' },
  form: {
    method: 'POST',
    path: '/_f_/p/upload',
    body: '--b\r\nContent-Disposition: form-data; name="file"; filename="form.txt"\r\n\r\nbytes\r\n--b--\r\n',
    type: 'multipart/form-data; boundary=b',
  },
} as const;
type Name = keyof typeof requests;

function headersOf(sluice: Sluice, name: Name): Record<string, string> {
  return {
    authorization: `Bearer ${sluice.token}`,
    'auto-create-project': 'true',
    'auto-create-record-space': 'true',
    structure,
    'idempotency-key': `key of ${name}`,
    'content-type': requests[name].type,
  };
}

async function send(sluice: Sluice, name: Name) {
  const { method, path, body } = requests[name];
  const answer = await fetch(sluice.baseUrl + path, { method, body, headers: headersOf(sluice, name) });
  return {
    status: answer.status,
    replayed: answer.headers.get('idempotent-replayed'),
    body: await answer.json(),
  };
}

/** Sends it over a connection whose answer nobody reads. */
async function sendBlindly(sluice: Sluice, name: Name): Promise<void> {
  const { method, path, body } = requests[name];
  const { hostname, port } = new URL(sluice.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const headers = {
    host: hostname,
    ...headersOf(sluice, name),
    'content-length': `${Buffer.byteLength(body)}`,
  };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** Until a log of the server has a text. */
async function untilLogged(sluice: Sluice, log: string, text: string): Promise<void> {
  const folder = join(sluice.dataDir, log);
  for (;;) {
    for (const file of await readdir(folder).catch(() => [])) {
      if ((await readFile(join(folder, file), 'latin1').catch(() => '')).includes(text)) return;
    }
    await sleep(1);
  }
}

t.test('kill -9 between an effect and its answer', { timeout: 240_000 }, async (t) => {
  let sluice = await sluiceFor(t);
  // the space is there: the next insert is one write
  t.equal((await send(sluice, 'insertOne')).status, 200);
  for (const [name, log, text] of [
    ['insert', 'record-log', 'two of two'],
    ['put', 'file-log', 'put.txt'],
    ['form', 'file-log', 'form.txt'],
  ] as const) {
    await sendBlindly(sluice, name);
    await untilLogged(sluice, log, text);
    await sluice.kill();
    sluice = await sluice.restart();
    const answer = await send(sluice, name);
    t.match(answer, { status: 200, replayed: 'true' }, name);
    t.strictSame(await send(sluice, name), answer, name);
  }
  t.match(await send(sluice, 'insertOne'), { status: 200, replayed: 'true' });
  const get = async (path: string) =>
    (await fetch(sluice.baseUrl + path, { headers: headersOf(sluice, 'insertOne') })).json();
  const records = (await get('/p/notes')) as { text: string }[];
  t.strictSame(records.map(({ text }) => text).sort(), ['one of two', 'the one record', 'two of two']);
  const { files } = (await get('/_f_/p')) as { files: { originalName: string }[] };
  t.strictSame(files.map(({ originalName }) => originalName).sort(), ['form.txt', 'put.txt']);
});
