/** Uploaded files that are queried in place (docs/import-export.md, "A file is a table"). */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { EngineEnded, EngineMissing, EngineProcess } from '#engine/engine-process.ts';
import { readConfig } from '#kernel/config/read-config.ts';
import { readLimitDefaults } from '#kernel/config/settings.ts';
import { fileKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { openObjectStore } from '#objects/open-object-store.ts';
import { fileError } from '#query/files/file-error.ts';
import { formatOf } from '#query/files/file-format.ts';
import { FileTables } from '#query/files/file-tables.ts';
import { tableReading } from '#query/imports/jobs/import-choices.ts';
import { StoredFiles } from '#query/imports/jobs/stored-files.ts';
import { fakeRequest, responseBytes } from '../services/fake-request.ts';
import { importSpaces } from '../services/import-spaces.ts';
import { testDeployment } from '../services/new-file.ts';
import { type QueryCall, queryHarnessFor, refusal } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { silentLog } from '../services/silent-log.ts';
import { storeObject } from '../services/store-object.ts';
import { full } from '../services/test-size.ts';
import { collect } from './object-store-contract.ts';

const harness = await queryHarnessFor(t);
const made = importSpaces(t, harness);
const store = await createFileSystemStore({ root: join(harness.dataDir, 'files') });
t.teardown(() => store.close());

type Content = string | Uint8Array;

async function upload(
  name: string,
  content: Content,
  contentType = 'application/octet-stream',
  to: ObjectStore = store,
  ownerId = 'owner',
) {
  const stored = `${randomUUID()}_${name}`;
  const key = fileKey({ deploymentId: testDeployment, ownerId, projectSlug: 'p', name: stored });
  await storeObject(to, key, Buffer.from(content as string), { contentType, metadata: {} });
  return stored;
}

const ask = (name: string, body: unknown, more: Partial<QueryCall> = {}) =>
  harness.call({ method: 'QUERY', path: `/_f_/p/${name}`, body, ...more });

/** A file that the engine of the service makes. */
async function fileOf(sql: string, format: string, settings = ''): Promise<Buffer> {
  return collect(await harness.db.stream({ sql, format, ...(settings && { settings }) }));
}

/** The same as CSV: a stream of the engine would name the columns again and again. */
async function csvFrom(sql: string): Promise<string> {
  const [row = {}] = await harness.db.rows<object>({ sql: `${sql} LIMIT 1` });
  return `${Object.keys(row).join()}\n${await fileOf(sql, 'CSV')}`;
}

/** Engines of this process that read files. */
const engines = (): number => enginePids().length;

function enginePids(): number[] {
  return readdirSync('/proc')
    .filter((name) => {
      try {
        const [, , parent] = readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/\(.*\)/, 'x')
          .split(' ')
          .slice(1);
        return (
          Number(parent) === process.pid &&
          /engine-program/.test(readFileSync(`/proc/${name}/cmdline`, 'utf8'))
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

const rows = Array.from({ length: 500 }, (_, n) => ({
  key: `k${n}`,
  text: ['red', 'green', 'a "quoted", text', 'two\nlines', 'é😀'][n % 5],
  number: n % 7 === 0 ? null : n / 8,
  yes: n % 3 === 0 ? null : n % 2 === 0,
  list: [n % 4, 'x'],
  home: { city: `c${n % 10}`, n },
}));
type Row = (typeof rows)[number];
const names = Object.keys(rows[0] as Row) as (keyof Row)[];
const cellOf = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `"${text.replaceAll('"', '""')}"`;
};
const csvOf = (delimiter: string): string =>
  [names, ...rows.map((row) => names.map((name) => cellOf(row[name])))]
    .map((cells) => cells.join(delimiter))
    .join('\r\n');
const csv = csvOf(',');
const ndjson = rows.map((row) => JSON.stringify(row)).join('\n');

const fieldsOnly = (list: Record<string, unknown>[]) =>
  list.map(({ id: _, createdAt: __, updatedAt: ___, ...row }) => row);

t.test('the answers are those of the same data as records', async (t) => {
  const { body: job } = await harness.call({
    method: 'POST',
    path: '/p/same/_import_',
    body: csv,
    headers: { 'content-type': 'text/csv' },
  });
  const space = await made('same', []);
  t.match(await space.over(job.id), { state: 'done', inserted: rows.length });
  const path = '/p/same';
  const headers = { 'use-pre-stored-structure': 'true' };
  const { body: records } = await harness.call({ path, headers });
  const parquet = await collect(
    (
      (await harness.respond({ path: `${path}/_export_.parquet`, query: `$select=${names.join()}` }))
        .body as never as { chunks: AsyncIterable<Uint8Array> }
    ).chunks,
  );
  t.equal(records.length, rows.length);
  const files = {
    csv: await upload('a.csv', csv),
    semicolons: await upload('a.txt', `sep=;\n${csvOf(';').replaceAll('\r\n', '\n')}`),
    tabs: await upload('a.tsv', csvOf('\t')),
    typed: await upload('a', csv, 'text/csv; charset=utf-8'),
    marked: await upload('b.csv', `\ufeff${csv}`),
    gzip: await upload('a.csv.gz', gzipSync(csv)),
    ndjson: await upload('a.ndjson', ndjson),
    lines: await upload('a.jsonl.gz', gzipSync(ndjson)),
    parquet: await upload('a.parquet', parquet),
  };
  const questions = [
    { $sort: 'key' },
    { number: { gt: 10, lte: 20 }, $sort: '-number', $select: ['key', 'number'] },
    { text: { contains: 'quoted' }, yes: true, $sort: 'key', $limit: 5, $page: 2 },
    { 'home.city': 'c3', list: { has: 1 }, $sort: ['-yes', 'number', 'key'] },
    { $or: [{ text: 'é😀' }, { number: { exists: false } }], $sort: 'key', $select: ['home.n', 'text'] },
    { text: { in: ['red', 'two\nlines'] }, $sort: ['text', 'key'], $limit: 7 },
  ];
  const groups = [
    { values: { n: 'count' } },
    { groupBy: ['text'], values: { n: 'count', sum: { sum: 'number' }, most: { max: 'key' } } },
    {
      groupBy: ['yes', 'home.city'],
      values: { q: { quantile: ['number', 0.5] }, d: { distinct: 'list' } },
      sort: [{ by: 'q', order: 'desc' }],
      limit: 10,
    },
    {
      where: { number: { gte: 5 } },
      groupBy: ['list'],
      values: { avg: { avg: 'number' } },
      having: { avg: { gt: 30 } },
    },
  ];
  const kinds = full ? Object.keys(files) : ['csv', 'parquet'];
  for (const [kind, name] of Object.entries(files).filter(([kind]) => kinds.includes(kind))) {
    // the rows of the others are asked in the same way, once they are read
    const isWhole = full && ['csv', 'ndjson', 'parquet'].includes(kind);
    for (const question of questions.slice(0, isWhole ? undefined : 1)) {
      const wanted = await harness.call({ method: 'QUERY', path, headers, body: question });
      const found = await ask(name, question);
      t.equal(found.status, 200, `${kind}: ${found.problems}`);
      const given = fieldsOnly(wanted.body);
      t.strictSame(fieldsOnly(found.body), given, `${kind} ${JSON.stringify(question)}`);
      t.ok(given.length > 0, 'there is something to compare');
    }
    for (const body of isWhole ? groups : groups.slice(2, full ? 2 : 3)) {
      const wanted = await harness.call({ path: `${path}/_aggregate_`, headers, body });
      const found = await ask(name, body);
      t.strictSame(found.body, wanted.body, `${kind} ${JSON.stringify(body)} ${found.problems}`);
    }
  }
  const { body } = await harness.call({ path: `/_f_/p/${files.csv}/_find_`, body: { key: 'k7' } });
  t.strictSame(body, [rows[7]], 'POST');
  t.strictSame((await ask(files.csv, {})).body, rows, 'in the order of the file');
});

t.test('columns as they come', { skip: !full }, async (t) => {
  const odd = ['id', 'createdAt', 'a`b\\c', "d'e", 'x"y', 't0', 'c1', '$sort', 'values', '__proto__', 'a.b'];
  const file = await upload('odd.csv', `${odd.map(cellOf).join(',')}\n${odd.map((_, n) => n).join(',')}\n`);
  const row = JSON.parse(`{${odd.map((name, n) => `${JSON.stringify(name)}:${n}`).join()}}`);
  t.strictSame((await ask(file, { id: 0, 'a`b\\c': { gte: 2 } })).text, `[${JSON.stringify(row)}\n]`);
  t.match(
    await ask(file, [
      ['values', 'gt', 7],
      ['$sort', 'eq', 7],
    ]),
    { status: 200, body: [{ values: 8 }] },
  );
  t.strictSame((await ask(file, { values: { top: { max: 'x"y' } } })).body, [{ top: 4 }]);
  const lines = await upload('odd.ndjson', JSON.stringify(row));
  t.strictSame((await ask(lines, { id: 0, 'a`b\\c': { gte: 2 } })).text, `[${JSON.stringify(row)}\n]`);
  t.match(await ask(file, { updatedAt: 1 }), refusal('invalid_condition', /updatedAt/));
  t.match(await ask(file, { nothing: 1 }), refusal('invalid_condition', /nothing.*createdAt/));
  t.match(await ask(file, { groupBy: [{ bucket: 'createdAt', every: '1d' }] }), refusal('invalid_condition'));
  t.match(await ask(file, { $limit: 2, $after: 'x' }), refusal('invalid_options', /\$after/));
  const ten = await upload('ten.csv', `n\n${Array.from({ length: 10 }, (_, n) => n % 4).join('\n')}\n`);
  for (const $limit of [3, 5]) {
    const read: unknown[] = [];
    const asked = { $sort: ['-n'], $select: ['n'], $limit };
    for (let $after: unknown = { skip: 0 }; $after !== null; ) {
      const path = `/_f_/p/${ten}`;
      const body = { ...asked, $after };
      const answer = await harness.respond({ method: 'QUERY', path, body });
      const rows = JSON.parse(String(await responseBytes(answer))) as unknown[];
      const next = answer.headers?.['sluice-next-after'];
      t.equal(next !== undefined, rows.length === $limit, 'a full page of rows names the next one');
      read.push(...rows);
      $after = next === undefined ? null : JSON.parse(next);
    }
    const all = await ask(ten, { $sort: ['-n'], $select: ['n'] });
    t.strictSame(read, all.body);
  }
  for (const limit of [3, 4]) {
    const body = { groupBy: ['n'], limit };
    const { headers } = await harness.respond({ method: 'QUERY', path: `/_f_/p/${ten}`, body });
    t.equal(headers?.['sluice-more-groups'], limit < 4 ? 'true' : undefined, 'all four groups, or more');
  }
  t.match(await ask(file, { $count: 'exact' }), refusal('invalid_options', /\$count/));
  t.match(await ask(file, 'text'), refusal('invalid_body'));
  const wide = Array.from({ length: 1000 }, (_, n) => `c${n}`);
  const many = await upload(
    'wide.csv',
    `${wide.join()}\n${wide.map((_, n) => n).join()}\n${wide.map(() => '').join()}\n`,
  );
  const found = await ask(many, { c999: 999 });
  t.match(found, { body: [{ c0: 0, c500: 500 }] });
  t.equal(Object.keys(found.body[0]).length, 1000);
  const zip = await upload('zip.csv', 'zip,n,big,some\n007,1,12345678901234567890,x\n08,-2.5e3,1,\n,,,""\n');
  t.strictSame((await ask(zip, {})).body, [
    { zip: '007', n: 1, big: '12345678901234567890', some: 'x' },
    { zip: '08', n: -2500, big: '1', some: null },
    { zip: null, n: null, big: null, some: '' },
  ]);
  t.strictSame((await ask(await upload('none.csv', 'a,b\n'), {})).body, []);
  t.strictSame((await ask(await upload('none.csv', 'a,b'), { values: { n: 'count' } })).body, [{ n: 0 }]);
  const tabs = await upload('a.tsv', 'a\tb\n1\tx,y\n');
  t.strictSame((await ask(tabs, {})).body, [{ a: 1, b: 'x,y' }]);
  const mixed = await upload('mixed.ndjson', '{"a":1,"b":true}\n{"a":"x","b":{"k":1}}\n{"c":[1]}\n');
  t.strictSame((await ask(mixed, {})).body, [
    { a: '1', b: 'true', c: null },
    { a: 'x', b: '{"k":1}', c: null },
    { a: null, b: null, c: [1] },
  ]);
  const bytes = await upload('latin.csv', Buffer.from('a\n\xe9t\xe9\n', 'latin1'));
  t.match(
    await ask(bytes, {}),
    refusal('unreadable_file', /not valid UTF-8 near byte 3 in line 2: save it as UTF-8/),
  );
});

t.test('columns that get other names, or are left out', async (t) => {
  const parquet = await fileOf('SELECT 1 AS a, 2 AS b, 3 AS c', 'Parquet');
  const named = encodeURIComponent('{"a":"x","b":null,"none":null}');
  for (const [name, content] of [
    ['a.csv', 'a,b,c\n1,2,3\n'],
    ['a.ndjson', '{"a":1,"b":2,"c":3}\n'],
    ['a.parquet', parquet],
  ] as const) {
    const file = await upload(name, content);
    const asked = (columns: string, body: unknown = {}) => ask(file, body, { query: `columns=${columns}` });
    t.strictSame((await asked(named)).body, [{ x: 1, c: 3 }], name);
    t.strictSame((await asked(named, { x: 1, $select: ['x'] })).body, [{ x: 1 }]);
    t.match(await asked(named, { a: 1 }), refusal('invalid_condition', /'?a'?/));
    for (const [columns, reason] of [
      ['{"a":"c"}', /two columns go to the field 'c'/],
      ['{"z":"y"}', /the column 'z' goes to 'y', which is no field/],
    ] as const)
      t.match(await asked(encodeURIComponent(columns)), refusal('unreadable_file', reason));
    t.match(await asked('1'), refusal('invalid_options', /columns is '1'/));
  }
  const unnamed = await upload('r.csv', '"","v"\n"1",x\n');
  const asRow = encodeURIComponent('{"":"row"}');
  t.strictSame((await ask(unnamed, {}, { query: `columns=${asRow}` })).body, [{ row: 1, v: 'x' }]);
  const without = encodeURIComponent('{"":null}');
  t.strictSame((await ask(unnamed, {}, { query: `columns=${without}` })).body, [{ v: 'x' }]);
});

t.test('a key that a line has twice', async (t) => {
  const lines = '{"a":1,"b":":"}\n{"a":2,"b":"x","a":3}\n';
  const sent = { method: 'POST', path: '/p/twice/_import_', query: 'format=ndjson', body: lines };
  const space = await made('twice', fieldsOf('a NUMBER, b TEXT'));
  const job = await space.over((await harness.call(sent)).body.id);
  const reason = "the key 'a' is given twice";
  t.match(job, { state: 'failed', problems: [{ line: 2, field: null, reason }] });
  const file = await upload('twice.ndjson', lines);
  t.match(await ask(file, { values: { n: { sum: 'a' } } }), refusal('unreadable_file', `line 2: ${reason}`));
});

t.test('columns of Parquet are what an import makes of them', { skip: !full }, async (t) => {
  const sql = `SELECT toInt64(number) AS big, toDate('2024-02-29') AS day, (number = 1)::Bool AS yes,
    toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC') AS time, [number, 1] AS list, map('k', toString(number)) AS pairs,
    tuple(1, 'x')::Tuple(a UInt8, b String) AS home, if(number = 1, NULL, toFloat32(0.5)) AS half,
    toDecimal64(1.25, 2) AS money, toLowCardinality('word') AS word FROM numbers(3)`;
  const body = await fileOf(sql, 'Parquet');
  const file = await upload('types.parquet', body);
  const sent = { method: 'POST', path: '/p/types/_import_', query: 'format=parquet', body };
  const { body: job } = await harness.call(sent);
  const space = await made('types', []);
  t.match(await space.over(job.id), { inserted: 3 });
  const headers = { 'use-pre-stored-structure': 'true' };
  const { body: records } = await harness.call({ path: '/p/types', headers });
  t.strictSame((await ask(file, {})).body, fieldsOnly(records));
  t.match((await ask(file, { 'home.b': 'x', 'pairs.k': { exists: true }, big: 1 })).body, [{ big: 1 }]);
  const none = await upload(
    'none.parquet',
    await fileOf('SELECT number / 0 AS n FROM numbers(2)', 'Parquet'),
  );
  t.match(await ask(none, {}), refusal('unreadable_file', /line 1: 'n' is NaN or infinite/));
  t.strictSame((await ask(none, {}, { query: 'nan=null' })).body, [{ n: null }, { n: null }]);
});

t.test('files that are none of ours', async (t) => {
  const file = await upload('a.csv', 'a\n1\n');
  t.match(await ask(file, {}, { owner: 'another' }), { status: 404, code: 'not_found' });
  t.match(await ask(`${randomUUID()}_a.csv`, {}), { status: 404 });
  t.match(await ask('..%2Fa.csv', {}), { status: 404 });
  t.match(await harness.call({ method: 'QUERY', path: `/_f_/q/${file}`, body: {} }), { status: 404 });
  t.match(await harness.call({ method: 'QUERY', path: `/_f_/-/${file}`, body: {} }), refusal('invalid_slug'));
  for (const name of ['a.pdf', 'a.json', 'a', 'a.parquet.gz', 'csv'])
    t.match(await ask(await upload(name, 'a\n1\n'), {}), { status: 415, code: 'unsupported_media_type' });
  t.match(await ask(file, '{}', { headers: { 'content-type': 'text/plain' } }), { status: 415 });
});

t.test('files that can not be read', async (t) => {
  const parquet = await fileOf('SELECT number AS n, toString(number) AS t FROM numbers(10000)', 'Parquet');
  const damaged = Buffer.from(parquet);
  damaged.fill(0xff, 50, 5000);
  const lies = Buffer.from(parquet);
  lies.writeUInt32LE(0x7fffffff, lies.byteLength - 8);
  const late = `a,b\n${'1,true\n'.repeat(30_000)}`;
  const unreadable = [
    ['a.csv', '', /empty/],
    ['a.csv', 'a,a\n1,2\n', /line 1: its first line names 'a' twice/],
    ['a.csv', 'a,\n1,2\n', /column 2 has no name/],
    ['a.csv', 'a,b\n1,2,3\n', /line 2: it has 3 cells, and there are 2 columns/],
    ['a.csv', 'x'.repeat(2_000_000), /characters/],
    ['a.csv', Array.from({ length: 3000 }, (_, n) => n).join(), /more than 2,000 columns/],
    [
      'a.csv',
      `a\n"${'['.repeat(100_000)}${']'.repeat(100_000)}"\n`,
      /line 2: 'a' should be a valid array: it is nested deeper/,
    ],
    ['a.csv', 'a,b\n1\n', /line 2: it has 1 cells, and there are 2 columns/],
    ['a.csv', 'a,b\r1,2\r', /CR/],
    ['a.csv', `${late}x,true\n`, /line 30002: 'a' should be a valid number/],
    ['a.csv', `${late}1,maybe\n`, /line 30002: 'b' should be true or false/],
    ['a.csv.gz', 'a,b\n1,2\n', /not CSV compressed with gzip/],
    ['a.csv.gz', gzipSync(csv).subarray(0, 2000), /compressed data is damaged, or cut/],
    ['a.ndjson', 'hello\n', /line 1: it is not valid JSON/],
    ['a.ndjson', '{"a":1}\n{"a":', /line 2: it is not valid JSON/],
    ['a.ndjson', `${'{"a":1}\n'.repeat(30_000)}{"a":"x"}\n`, /line 30001: 'a' should be a valid number/],
    ['a.ndjson', '', /no columns|empty/],
    ['a.parquet', 'a,b\n1,2\n', /not a complete Parquet file/],
    ['a.parquet', parquet.subarray(0, parquet.byteLength - 20), /not a complete Parquet file/],
    ['a.parquet', parquet.subarray(20), /not a complete Parquet file/],
    ['a.parquet', damaged, /not a complete Parquet file/],
    ['a.parquet', lies, /its footer has more than/],
  ] as const;
  for (const [name, content, reason] of full ? unreadable : unreadable.filter((_, at) => at % 6 === 3)) {
    const answer = await ask(await upload(name, content), { $limit: 100_000 });
    t.match(answer, refusal('unreadable_file', reason), `${name}: ${String(reason)}`);
    t.notMatch(answer.problems.join(), /Code:|127\.0\.0\.1|\/dev\/|version/);
  }
  const all = { status: 501, code: 'not_implemented' };
  const format = { name: 'CSV', isGzip: false } as const;
  t.match(fileError(new EngineMissing(), format, { timeout: 1, by: '' }, silentLog()), all);
});

t.test(
  'statements of one account wait for each other, and another account does not',
  { skip: !full },
  async (t) => {
    const sql = 'SELECT number AS n, toString(cityHash64(number)) AS t FROM numbers(200000)';
    const file = await upload('many.csv', await csvFrom(sql));
    const most = { values: { most: { max: 't' } } };
    let atOnce = 0;
    const watch = setInterval(() => {
      atOnce = Math.max(atOnce, engines());
    }, 5);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(file, most)));
    clearInterval(watch);
    t.equal(atOnce, 1);
    t.equal(new Set(answers.map(({ text }) => text)).size, 1);
    // a reader that takes nothing has the place of its account
    const held = await harness.respond({ method: 'QUERY', path: `/_f_/p/${file}`, body: {} });
    const theirs = await ask(await upload('b.csv', 'a\n1\n', '', store, 'another'), {}, { owner: 'another' });
    t.strictSame(theirs.body, [{ a: 1 }]);
    const waiting = ask(file, most);
    const chunks = (held.body as { chunks: AsyncIterable<Uint8Array> }).chunks;
    t.equal(JSON.parse((await collect(chunks)).toString()).length, 200_000);
    t.match(await waiting, { status: 200 });
  },
);

t.test('an engine that is killed ends at once, and says by what', async (t) => {
  for (const signal of ['SIGSEGV', 'SIGKILL'] as const) {
    const options = { settings: {}, timeout: 30_000, signal: new AbortController().signal };
    const engine = await EngineProcess.start(options);
    // a process that answers has left its signals to the kernel
    await engine.rows('SELECT 1');
    const asked = t.rejects(engine.rows('SELECT sleep(3)'), new EngineEnded(`it ended with ${signal}`));
    for (const pid of enginePids()) process.kill(pid, signal);
    await asked;
    await engine.close();
  }
});

t.test('in S3 a table in columns is read by ranges', { skip: !full }, async (t) => {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const config = readConfig({ ...stubSettings(stub), DATA_DIR: harness.dataDir });
  const { store: s3 } = await openObjectStore(config, silentLog());
  const stored = new StoredFiles({ deploymentId: testDeployment, open: async () => s3 });
  let read = 0;
  const files = {
    find: stored.find.bind(stored),
    open: stored.open.bind(stored),
    async *read(...args: Parameters<StoredFiles['read']>) {
      for await (const chunk of stored.read(...args)) {
        read += chunk.byteLength;
        yield chunk;
      }
    },
  };
  const tables = new FileTables({ files, limits: readLimitDefaults, log: silentLog() });
  t.teardown(async () => {
    await tables.close();
    await stored.close();
  });
  const sql = 'SELECT number AS n, hex(randomString(200)) AS t FROM numbers(40000)';
  const parquet = await fileOf(sql, 'Parquet', 'output_format_parquet_row_group_size = 5000');
  const csv = await csvFrom('SELECT number AS n, 1 AS one FROM numbers(40000)');
  const askS3 = async (name: string, body: unknown) => {
    const { signal } = new AbortController();
    const object = await files.find({ ownerId: 'owner', projectSlug: 'p', name }, signal);
    const format = formatOf(name, object);
    const cost = { timeout: 30_000, by: '' };
    const request = fakeRequest({ method: 'QUERY', signal });
    const { reading, rest: query } = tableReading([], format, 1_000_000);
    const chunks = await tables.query({
      ownerId: 'owner',
      object,
      format,
      reading,
      query,
      body,
      request,
      cost,
    });
    return JSON.parse((await collect(chunks)).toString());
  };
  const sum = { values: { sum: { sum: 'n' }, rows: 'count' } };
  const answer = [{ sum: '799980000', rows: 40_000 }];
  const name = await upload('a.parquet', parquet, '', s3);
  t.strictSame(await askS3(name, sum), answer);
  read = 0;
  t.strictSame(await askS3(name, sum), answer);
  t.ok(read > 40_000 && read < parquet.byteLength / 10, `${read} of ${parquet.byteLength} bytes`);
  const numbers = [{ sum: 799_980_000, rows: 40_000 }];
  t.strictSame(await askS3(await upload('a.csv', csv, '', s3), sum), numbers);
  t.strictSame(await askS3(await upload('a.csv.gz', gzipSync(csv), '', s3), sum), numbers);
  // a store that fails is no file that is damaged
  stub.fault({ operation: 'GetObject', action: { kind: 'error', status: 403, code: 'AccessDenied' } });
  await t.rejects(askS3(name, { n: 1 }), /AccessDenied|403/);
});

t.test('what costs too much is ended, and nothing is left of it', { skip: !full }, async (t) => {
  const zeros = gzipSync(Buffer.alloc(256 * 1024 ** 2));
  const bomb = await upload('bomb.csv.gz', Buffer.concat(Array.from({ length: 60 }, () => zeros)));
  t.match(await ask(bomb, {}), refusal('unreadable_file', /more than 1000000 characters/));
  // more than a million groups in one of two threads
  const sql = 'SELECT number AS n, toString(cityHash64(number)) AS t FROM numbers(2200000)';
  const large = await upload('large.csv', await csvFrom(sql));
  t.match(await ask(large, { groupBy: ['t'], values: { n: 'count' } }), { status: 422 });
  const controller = new AbortController();
  const cut = ask(large, { $sort: 't' }, { signal: controller.signal });
  while (engines() === 0) await sleep(5);
  controller.abort(new Error('the client is gone'));
  await t.rejects(cut, /the client is gone/);
  // a reader that leaves in the middle
  const leaving = new AbortController();
  const answer = await harness.respond({
    method: 'QUERY',
    path: `/_f_/p/${large}`,
    body: {},
    signal: leaving.signal,
  });
  for await (const chunk of (answer.body as { chunks: AsyncIterable<Uint8Array> }).chunks) {
    t.ok(chunk.byteLength > 0);
    break;
  }
  for (let tries = 0; engines() > 0 && tries < 200; tries++) await sleep(20);
  t.equal(engines(), 0);
});

t.test('values are those of an import: blanks are kept, and no number is rounded', async (t) => {
  const spaced = await upload('a.csv', 'v,w\n a , "b"\nc,1 \n');
  t.strictSame((await ask(spaced, {})).body, [
    { v: ' a ', w: ' "b"' },
    { v: 'c', w: '1 ' },
  ]);
  const one = await upload('a.csv', 'v\nx\n \n');
  t.strictSame((await ask(one, { values: { n: 'count' } })).body, [{ n: 2 }], 'a row of a blank');
  const words = await upload('a.csv', 'v\nÄ\nö\n');
  t.strictSame((await ask(words, {}, { query: 'true=ä&false=Ö' })).body, [{ v: true }, { v: false }]);
  for (const [first, last, reason] of [
    ['1', '9007199254740993', 'the number 9007199254740993 has more digits'],
    ['1', '1e-400', 'the number 1e-400 is too close to 0'],
    ['1', 'true', "'v' should be a valid number"],
    ['true', '1', "'v' should be a valid boolean"],
  ] as const) {
    const lines = `{"v":${first}}\n`.repeat(25_000);
    const file = await upload('a.ndjson', `${lines}{"v":${last}}\n`);
    const answer = await ask(file, { groupBy: ['v'], values: { n: 'count' } });
    t.match(answer, refusal('unreadable_file', new RegExp(`line 25001: ${reason}`)), `${first}, ${last}`);
  }
});
