/** Inserts of NDJSON: the same records as by an array, and what is refused. */
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { deflateSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const limit = 2_000_000;
const sluice = await sluiceFor(t, { env: { MAX_RECORDS_BYTES: String(limit) } });
const ndjson = 'application/x-ndjson';

let spaces = 0;
/** A space of its own, and what is done with it. */
function newSpace() {
  const slug = `people-${++spaces}`;
  const structure = structureOf('demo', slug, fieldsOf('name TEXT unique, age NUMBER, tags ARRAY'));
  const path = `/demo/${slug}`;
  return {
    path,
    structure,
    async insert(body: string | Uint8Array | Readable, headers: Readonly<Record<string, string>> = {}) {
      const response = await fetch(sluice.baseUrl + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${sluice.token}`,
          'auto-create-project': 'true',
          'content-type': ndjson,
          structure,
          ...headers,
        },
        body: body as NonNullable<RequestInit['body']>,
        duplex: 'half',
      } as RequestInit);
      // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
      return { status: response.status, headers: response.headers, body: (await response.json()) as any };
    },
    async names(): Promise<string[]> {
      const { body } = await call({ ...sluice, path, structure });
      return (body as { name: string }[]).map(({ name }) => name);
    },
    count: async (): Promise<number> =>
      (await call({ ...sluice, path: `${path}/_count_`, structure })).body.count,
  };
}

const linesOf = (records: readonly unknown[]): string =>
  records.map((record) => JSON.stringify(record)).join('\n');
const people = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `p${at}`, age: at }));
const named = (count: number): string[] => people(count).map(({ name }) => name);

t.test('the answer is that to an array', async (t) => {
  const space = newSpace();
  const answer = await space.insert(linesOf(people(3)));
  t.match(answer, { status: 200, body: people(3) });
  t.strictSame(await space.names(), named(3));
});

t.test('spellings of lines', async (t) => {
  for (const [what, text] of Object.entries({
    'no last line break': '{"name":"p0"}\n{"name":"p1"}',
    'a last line break': '{"name":"p0"}\n{"name":"p1"}\n',
    'carriage returns': '{"name":"p0"}\r\n{"name":"p1"}\r\n',
    'empty lines': '\n\n{"name":"p0"}\n \t\n\n{"name":"p1"}\n\n',
    'a byte order mark': '\ufeff{"name":"p0"}\n{"name":"p1"}',
    spaces: '  {"name" : "p0"}  \n\t{"name":"p1"}',
  })) {
    const space = newSpace();
    t.match(await space.insert(text), { status: 200 }, what);
    t.strictSame(await space.names(), named(2), what);
  }
});

t.test('media types that imports take', async (t) => {
  for (const type of ['application/ndjson', 'application/jsonl', 'Application/X-NDJSON; charset=utf-8']) {
    const space = newSpace();
    t.match(await space.insert(linesOf(people(2)), { 'content-type': type }), { status: 200 }, type);
  }
  for (const type of ['application/json', 'text/csv', 'text/plain']) {
    const answer = await newSpace().insert(linesOf(people(2)), { 'content-type': type });
    t.match(answer, { status: 400, body: { code: 'invalid_body' } }, type);
  }
  // other bodies are JSON, whatever their type
  const { path, structure } = newSpace();
  const one = { ...sluice, structure, headers: { 'content-type': ndjson } };
  t.match(await call({ ...one, path: `${path}/_single_`, body: { name: 'p0' } }), { status: 200 });
});

t.test('many records, in pieces and without a length, compressed and not', async (t) => {
  const count = 20_000;
  const text = linesOf(people(count));
  const small = linesOf(people(10));
  for (const [what, body, headers, stored] of [
    ['whole', text, {}, count],
    ['chunked', Readable.from([Buffer.from(text)]), {}, count],
    ['one byte at a time', Readable.from(bytesOf(small)), {}, 10],
    ['gzip', gzipSync(text), { 'content-encoding': 'gzip' }, count],
    ['x-gzip', gzipSync(small), { 'content-encoding': 'x-gzip' }, 10],
    ['deflate', deflateSync(text), { 'content-encoding': 'deflate' }, count],
    ['gzip, chunked', Readable.from([gzipSync(text)]), { 'content-encoding': 'gzip' }, count],
  ] as const) {
    const space = newSpace();
    const answer = await space.insert(body, { prefer: 'return=minimal', ...headers });
    t.match(answer, { status: 201, body: { inserted: stored } }, what);
    t.equal(await space.count(), stored, what);
  }
});

function* bytesOf(text: string): Generator<Uint8Array> {
  for (const byte of Buffer.from(text)) yield Buffer.from([byte]);
}

t.test('what is refused, and nothing of it is stored', async (t) => {
  const good = linesOf(people(2));
  const long = linesOf(people(10_000));
  const gzip = { 'content-encoding': 'gzip' };
  for (const [what, body, headers, status, problem] of [
    [
      'broken JSON',
      `${good}\n{"name":`,
      {},
      400,
      /^Line 3 of the request body: it is not valid JSON \(record at index 2\)$/,
    ],
    ['broken JSON behind empty lines', `${good}\n\n{"name":"x"}}\n${good}`, {}, 400, /^Line 4 .*index 2/],
    ['an open string', `${good}\n{"name":"x\n${long}`, {}, 400, /^Line 3 /],
    ['a key twice', `${good}\n{"name":"x","name":"y"}`, {}, 400, /^Line 3 .* given twice/],
    ['a long number', `${good}\n{"age":12345678901234567890}`, {}, 400, /^Line 3 .* more digits/],
    [
      'an array',
      `${good}\n[{"name":"x"}]`,
      {},
      400,
      /JSON object with at least one field \(record at index 2\)/,
    ],
    ['a text', `${good}\n"x"`, {}, 400, /JSON object .*index 2/],
    ['no fields', `${good}\n{}`, {}, 400, /JSON object .*index 2/],
    ['a wrong value', `${good}\n{"age":"x"}`, {}, 400, /age.*\(record at index 2\)/],
    ['an unknown field', `${good}\n{"nobody":1}`, {}, 400, /nobody.*\(record at index 2\)/],
    ['a value twice', `${good}\n${good}`, {}, 400, /name/],
    ['nothing', '', {}, 400, /empty/],
    ['empty lines', '\n\r\n  \n', {}, 400, /empty/],
    ['a byte order mark', '\ufeff', {}, 400, /empty/],
    ['no UTF-8', Buffer.from([...Buffer.from(`${good}\n`), 0xff, 0xfe]), {}, 400, /UTF-8/],
    ['half a letter', Buffer.from(`{"name":"é`).subarray(0, -1), {}, 400, /UTF-8/],
    ['UTF-16', Buffer.from(`\ufeff${good}`, 'utf16le'), {}, 400, /UTF-8/],
    ['an array over lines', JSON.stringify(people(2), null, 2), {}, 400, /^Line 1 /],
    ['too much', `${good}\n${' '.repeat(limit)}`, {}, 413, /2000000/],
    ['too much as it comes', Readable.from([Buffer.alloc(limit + 1, '\n')]), {}, 413, /2000000/],
    ['too much, compressed', gzipSync(`${good}\n${' '.repeat(50 * limit)}`), gzip, 413, /2000000/],
    ['no gzip', good, gzip, 400, /not gzip/],
    ['half of it', gzipSync(long).subarray(0, 2000), gzip, 400, /not gzip/],
    ['another coding', good, { 'content-encoding': 'br' }, 415, /gzip/],
    [
      'a record of many values',
      `${good}\n{"tags":[${'1,'.repeat(100_001)}1]}`,
      {},
      400,
      /more than 100000 values/,
    ],
  ] as const) {
    const space = newSpace();
    const answer = await space.insert(body, headers);
    t.equal(answer.status, status, what);
    t.match(answer.body.error?.[0], problem, what);
    t.equal(await space.count(), 0, what);
  }
});

t.test('ten thousand problems are reported as those of an array are', async (t) => {
  const wrong = Array.from({ length: 10_000 }, () => ({ age: 'x' }));
  const asLines = await newSpace().insert(linesOf(wrong));
  const asArray = await newSpace().insert(JSON.stringify(wrong), { 'content-type': 'application/json' });
  t.equal(asLines.status, 400);
  t.strictSame(asLines.body.error, asArray.body.error);
});

t.test('a bad line ends the request before the rest arrives', async (t) => {
  const space = newSpace();
  const { socket, answered } = rawInsert(space, '{"name":"p0"}\nnonsense\n');
  t.match(await answered, /^HTTP\/1\.1 400 [\s\S]*Line 2 of the request body/);
  socket.destroy();
  t.equal(await space.count(), 0);
});

t.test('a body that breaks off stores nothing', async (t) => {
  for (const records of [3, 9000]) {
    const space = newSpace();
    await space.count();
    const { socket } = rawInsert(space, `${linesOf(people(records))}\n`);
    await new Promise<void>((resolve) => setTimeout(resolve, 200));
    socket.destroy();
    // a whole body that comes later is stored, alone
    t.match(await space.insert(linesOf(people(2))), { status: 200 });
    await eventuallyEqual(t, () => space.count(), 2);
  }
});

/** Begins a request with a length that it never reaches. */
function rawInsert({ path, structure }: { path: string; structure: string }, begin: string) {
  const { hostname, port } = new URL(sluice.baseUrl);
  const socket = connect(Number(port), hostname);
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${sluice.token}`,
    'auto-create-project: true',
    `content-type: ${ndjson}`,
    `structure: ${structure}`,
    `content-length: ${limit - 1}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${begin}`);
  socket.on('error', () => {});
  const answered = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data;
      if (text.includes('\r\n\r\n') && text.includes('request body')) resolve(text);
    });
    socket.on('close', () => resolve(text));
  });
  return { socket, answered };
}

t.test('an Idempotency-Key knows the records, however they are written', async (t) => {
  const space = newSpace();
  const key = { 'idempotency-key': 'lines-1' };
  const first = await space.insert(linesOf(people(3)), key);
  for (const [body, type] of [
    [`${linesOf(people(3))}\n\n`, ndjson],
    [JSON.stringify(people(3)), 'application/json'],
  ] as const) {
    const again = await space.insert(body, { ...key, 'content-type': type });
    t.strictSame(again.body, first.body, type);
    t.equal(again.headers.get('idempotent-replayed'), 'true', type);
  }
  const other = await space.insert(linesOf(people(2)), key);
  t.match(other, { status: 422, body: { code: 'idempotency_key_reused' } });
  t.equal(await space.count(), 3);
});

t.test('a structure is inferred from the lines', async (t) => {
  const space = newSpace();
  const answer = await space.insert(linesOf(people(2)), { structure: '', 'infer-structure': 'true' });
  t.match(answer, { status: 200, body: people(2) });
});

t.test('onConflict', async (t) => {
  const space = newSpace();
  await space.insert(linesOf(people(2)));
  const options = JSON.stringify({ onConflict: { field: 'name', do: 'update' } });
  const answer = await space.insert('{"name":"p1","age":50}\n{"name":"new","age":1}', { options });
  t.match(answer.body, [
    { name: 'p1', age: 50 },
    { name: 'new', age: 1 },
  ]);
});
