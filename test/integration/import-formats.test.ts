/** Imports of tables, of uploaded files, and of what records bring along (docs/import-export.md). */

import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { fileKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { importSpaces } from '../services/import-spaces.ts';
import { testDeployment } from '../services/new-file.ts';
import { queryHarnessFor } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { full } from '../services/test-size.ts';
import { collect } from './object-store-contract.ts';

const harness = await queryHarnessFor(t, {
  freshness: { heardAfter: 0 },
  config: { maxImportBytes: 60_000_000 },
});
const made = importSpaces(t, harness);

const backup = {
  'test-grants': JSON.stringify({ may: ['find', 'insert', 'structure', 'files:read', 'backup'] }),
};

/** A file that the engine makes. */
async function fileOf(sql: string, format: string, settings = ''): Promise<Buffer> {
  return collect(await harness.db.stream({ sql, format, ...(settings && { settings }) }));
}

async function exported(space: string, ending: string, query = ''): Promise<Buffer> {
  const answer = await harness.respond({ path: `/p/${space}/_export_.${ending}`, query, headers: backup });
  return collect((answer.body as { chunks: AsyncIterable<Uint8Array> }).chunks);
}

const fields = [
  ...fieldsOf('key TEXT unique required, text TEXT, number NUMBER, yes BOOLEAN, list ARRAY, home OBJECT'),
  { name: 'password', type: 'TEXT' as const, hashed: true },
];
const records = [
  {
    key: 'a',
    text: 'x, "y"\nz',
    number: 1.5,
    yes: true,
    list: [1, { a: 2 }],
    home: { z: 1 },
    password: 'words',
  },
  { key: 'b', number: 1e23, yes: false, text: '' },
  { key: 'é😀', text: '\ufeff[é😀', number: 5e-324, list: [] },
];
const whole = 'keep=id,createdAt,updatedAt,hashes';

t.test('records move with their ids, times and hashes', async (t) => {
  const from = await made('from', fields);
  await from.insert(records);
  const [first] = await from.all();
  await from.updateOneById(String(first?.id), { number: 2.5 });
  const before = (await exported('from', 'ndjson')).toString();
  for (const ending of full ? ['parquet', 'arrow', 'csv'] : ['parquet']) {
    const to = await made(`to-${ending}`, fields);
    const file = await exported('from', ending, '$hashes=true');
    const job = await to.run(file, `format=${ending}&${whole}`, backup);
    t.match(
      job,
      { state: 'done', records: 3, inserted: 3, problemCount: 0, bytesRead: file.byteLength },
      ending,
    );
    t.equal((await exported(`to-${ending}`, 'ndjson')).toString(), before, ending);
    t.match((await to.find('key=a&password=words')).body, [{ key: 'a', id: first?.id }]);
    t.match((await to.find('key=a&password=other')).body, []);
    t.match(await to.insertOne({ key: 'b' }), { code: 'not_unique' });
    const again = await to.run(file, `format=${ending}&${whole}&onError=skip`, backup);
    t.match(again, { inserted: 0, skipped: 3, problems: [{ line: Number, reason: /is stored/ }] });
  }
  t.notMatch((await exported('from', 'csv')).toString(), /argon2|password/, 'nobody else gets them');
});

t.test('ids of their own', async (t) => {
  const space = await made('ids', fieldsOf('n NUMBER'));
  const long = 'x'.repeat(64);
  await space.insert([{ n: 0 }]);
  const csv = `id,n,createdAt\nb.2,2,2020-01-02T03:04:05.678Z\nA_1~,1,1999-12-31T23:00:00+01:00\n${long},3,2030-01-01T00:00Z\n`;
  t.match(await space.run(csv, 'keep=id,createdAt', backup), { state: 'done', inserted: 3 });
  t.match(await space.all(), [{ n: 0 }, { id: 'A_1~', n: 1 }, { id: 'b.2', n: 2 }, { id: long, n: 3 }]);
  t.match((await space.find('id=b.2')).body, [
    { createdAt: '2020-01-02T03:04:05.678Z', updatedAt: '2020-01-02T03:04:05.678Z' },
  ]);
  t.match((await space.find('$sort=-id&$limit=2')).body, [{ id: long }, { id: 'b.2' }]);
  t.match((await space.find('$sort=createdAt&$limit=1')).body, [
    { id: 'A_1~', createdAt: '1999-12-31T22:00:00.000Z' },
  ]);
  t.match((await space.find('$limit=5&$after=A_1~')).body, [{ id: 'b.2' }, { id: long }]);
  t.match(await space.updateOneById('b.2', { n: 20 }), { status: 200 });
  t.match(await space.deleteOneById(long), { status: 200 });
  harness.forget();
  t.match(await space.all(), [{ n: 0 }, { id: 'A_1~', n: 1 }, { id: 'b.2', n: 20 }]);
  const bad = `id,n,createdAt\nb.2,1,2020-01-01T00:00:00Z\nnew,1,yesterday\nnew,1,2020-01-01T00:00:00Z\nnew,1,2020-01-01T00:00:00Z\na b,1,2020-01-01T00:00:00Z\n,1,2020-01-01T00:00:00Z\n${long}x,1,1969-01-01T00:00:00Z`;
  const job = await space.run(bad, 'keep=id,createdAt&onError=skip', backup);
  t.match(job, { state: 'done', records: 7, inserted: 1, skipped: 6 });
  const problems = job.problems.map(
    ({ line, field, reason }: Record<string, unknown>) => `${line} ${field} ${reason}`,
  );
  t.strictSame(problems.sort(), [
    '2 id is unique, and a record with the same value is stored',
    '3 createdAt should be a time with its zone (ISO 8601), from 1970 on',
    '5 id is unique, and an earlier record has the same value',
    '6 id should be 1 to 64 letters, digits, or characters of -_.~',
    '7 id should be 1 to 64 letters, digits, or characters of -_.~',
    '8 id should be 1 to 64 letters, digits, or characters of -_.~',
  ]);
  t.match(await space.run('n\n1', 'keep=id', backup), {
    state: 'failed',
    problems: [{ reason: 'it has no column id, which should be kept' }],
  });
  const json = '{"id":"j","n":1}\n{"n":2}';
  t.match(await space.run(json, 'keep=id&format=ndjson&onError=skip', backup), {
    inserted: 1,
    problems: [{ line: 2, field: 'id', reason: /missing/ }],
  });
  const grants = { 'test-grants': JSON.stringify({ may: ['insert', 'find'] }) };
  t.match(await space.begin(csv, 'keep=id'), { status: 403 }, 'not by a token for everything');
  t.match(await space.begin(csv, 'keep=id', grants), { status: 403, code: 'not_granted' });
  t.match(await harness.call({ path: '/p/ids/_export_.csv', query: '$hashes=true', headers: grants }), {
    status: 403,
  });
  t.match(await space.begin(csv, 'keep=id,name'), { status: 400, code: 'invalid_options' });
});

t.test('hashes from elsewhere', async (t) => {
  const space = await made('hashes', fields);
  const bad = [
    'plain',
    '$2b$10$abcdefghijklmnopqrstuv',
    '$argon2id$v=19$m=999999,t=9,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA',
  ];
  const job = await space.run(
    `key,password\n${bad.map((hash, at) => `${at},"${hash}"`).join('\n')}\nnone,`,
    `keep=hashes&onError=skip`,
    backup,
  );
  t.match(job, { inserted: 1, skipped: 3, problems: [{ field: 'password', reason: /argon2/ }] });
});

t.test('tables of other types', async (t) => {
  const sql = `SELECT toInt64(number) AS big, toUInt8(number) AS small, toDate('2024-02-29') AS day,
    toDateTime64('2024-02-29 12:34:56.789', 3, 'UTC') AS time, [number, 1] AS list, map('k', toString(number)) AS pairs,
    tuple(1, 'x')::Tuple(a UInt8, b String) AS home, if(number = 1, NULL, toFloat32(0.5)) AS half,
    toDecimal64(1.25, 2) AS money, toLowCardinality('word') AS word, number = 1 AS yes FROM numbers(3)`;
  const values = [0, 1, 2].map((n) => ({
    big: n,
    small: n,
    list: [n, 1],
    home: { a: 1, b: 'x' },
    half: n === 1 ? undefined : 0.5,
    pairs: { k: String(n) },
    money: 1.25,
    word: 'word',
    time: '2024-02-29T12:34:56.789Z',
  }));
  const all = [
    ['parquet', 'Parquet', ''],
    ['parquet', 'Parquet', `output_format_parquet_compression_method = 'gzip'`],
    ['parquet', 'Parquet', `output_format_parquet_compression_method = 'brotli'`],
    ['parquet', 'Parquet', `output_format_parquet_compression_method = 'lz4'`],
    [
      'parquet',
      'Parquet',
      `output_format_parquet_compression_method = 'snappy', output_format_parquet_version = '1.0'`,
    ],
    ['arrow', 'Arrow', `output_format_arrow_compression_method = 'none'`],
    ['arrow', 'Arrow', `output_format_arrow_compression_method = 'lz4_frame'`],
    [
      'arrow',
      'Arrow',
      `output_format_arrow_compression_method = 'zstd', output_format_arrow_low_cardinality_as_dictionary = 1`,
    ],
    ['arrow', 'ArrowStream', ''],
  ] as const;
  for (const [name, format, settings] of full ? all : [all[0], all[6]]) {
    const slug = `other-${name}-${Math.random().toString(36).slice(2, 8)}`;
    const file = await fileOf(sql, format, settings);
    const what = `${format} ${settings}`;
    const { status, body: job } = await harness.call({
      method: 'POST',
      path: `/p/${slug}/_import_`,
      query: `format=${name}`,
      body: file,
    });
    t.equal(status, 202, what);
    const space = await made(slug, []);
    t.match(await space.over(job.id), { state: 'done', inserted: 3 }, what);
    const lines = (await exported(slug, 'ndjson')).toString().trim().split('\n');
    t.match(
      lines.map((line) => JSON.parse(line) as object),
      values,
      what,
    );
  }
});

t.test('long texts in tables', { skip: !full }, async (t) => {
  // several groups of rows, of which one is read at twice, and their pages; and several batches and blocks
  for (const [format, times, settings] of [
    ['Parquet', 70_000, 'output_format_parquet_row_group_size = 90, max_block_size = 90'],
    ['Arrow', 2000, `output_format_arrow_compression_method = 'lz4_frame', max_block_size = 30`],
  ] as const) {
    const slug = `many-${format.toLowerCase()}`;
    const space = await made(slug, fieldsOf('key TEXT unique, text TEXT, number NUMBER'));
    const many = `SELECT toString(n) AS key, repeat(key, ${times}) AS text, n / 7 AS number
      FROM (SELECT number + 100 AS n FROM numbers(100))`;
    const file = await fileOf(many, format, settings);
    t.match(await space.run(file, `format=${format.toLowerCase()}`), { inserted: 100 });
    for (const n of [100, 178, 179, 189, 190, 199]) {
      const [found = {}] = (await space.find(`key=${n}`)).body;
      t.ok(found.text === `${n}`.repeat(times) && found.number === n / 7, `${format} ${n}`);
    }
  }
});

t.test('tables that are none', async (t) => {
  const space = await made('none', fieldsOf('n NUMBER, t TEXT'));
  const good = await fileOf('SELECT number AS n, toString(number) AS t FROM numbers(1000)', 'Parquet');
  const arrow = await fileOf('SELECT number AS n, toString(number) AS t FROM numbers(1000)', 'Arrow');
  const damaged = (file: Buffer, at: number) => {
    const bytes = Buffer.from(file);
    bytes.fill(0xff, at, at + 40);
    return bytes;
  };
  const lies = Buffer.from(good);
  lies.writeUInt32LE(0x7fffffff, lies.byteLength - 8);
  const files = [
    ['parquet', Buffer.from('n,t\n1,x\n')],
    ['parquet', good.subarray(0, good.byteLength - 20)],
    ['parquet', good.subarray(20)],
    ['parquet', lies],
    ['parquet', damaged(good, 4)],
    ['parquet', damaged(good, 800)],
    ['parquet', arrow],
    ['arrow', good],
    ['arrow', arrow.subarray(0, 500)],
    // a file is read by its footer, and not by the schema in front
    ['arrow', damaged(arrow, arrow.byteLength - 100)],
    ['arrow', Buffer.from('n,t\n1,x\n2,yyyyyyyyyyyyyyyyyyyyyyyyyyyy\n')],
  ] as const;
  for (const [format, file] of full ? files : files.filter((_, at) => at % 4 === 1)) {
    const job = await space.run(file, `format=${format}`);
    t.match(job, { state: 'failed', inserted: 0, problems: [{ reason: String }] }, job.problems[0]?.reason);
  }
  const bytes = await fileOf(`SELECT unhex('ff00') AS t, toInt64(9007199254740993) AS n`, 'Parquet');
  t.match(await space.run(bytes, 'format=parquet'), { state: 'failed', problems: [{ reason: /UTF-8/ }] });
  const big = await fileOf('SELECT toInt64(9007199254740993) AS n', 'Arrow');
  t.match(await space.run(big, 'format=arrow'), {
    state: 'failed',
    problems: [{ line: 1, field: 'n', reason: /more digits/ }],
  });
  t.strictSame(await space.all(), []);
});

t.test('tables that are more than they look', { skip: !full }, async (t) => {
  // more than the texts of a file may have, and more than a batch may, in some kilobytes
  const bombs = await made('bombs', fieldsOf('t TEXT'));
  for (const [format, texts, settings, reason] of [
    ['Parquet', 100, `output_format_parquet_compression_method = 'zstd'`, /its texts have more than/],
    [
      'Arrow',
      100,
      `output_format_arrow_compression_method = 'zstd', max_block_size = 10`,
      /its texts have more than/,
    ],
    [
      'Arrow',
      300,
      `output_format_arrow_compression_method = 'zstd', max_block_size = 500, preferred_block_size_bytes = 0`,
      /a batch of its rows has more than/,
    ],
  ] as const) {
    const bomb = await fileOf(`SELECT repeat('a', 1000000) AS t FROM numbers(${texts})`, format, settings);
    t.ok(bomb.byteLength < 500_000, `${bomb.byteLength} bytes`);
    const job = await bombs.run(bomb, `format=${format.toLowerCase()}`);
    t.match(job, { state: 'failed', problems: [{ reason }] }, job.problems[0]?.reason);
  }
  const wide = await fileOf(`SELECT repeat('a', 1000000) || repeat('a', 1000000) AS t`, 'Parquet');
  t.match(await bombs.run(wide, 'format=parquet'), {
    state: 'failed',
    problems: [{ line: 1, reason: /more than \d+ characters/ }],
  });
  t.strictSame(await bombs.all(), []);
});

t.test('columns go where one says', { skip: !full }, async (t) => {
  const space = await made('columns', fieldsOf('name TEXT, age NUMBER'));
  const columns = (map: object): string => `columns=${encodeURIComponent(JSON.stringify(map))}`;
  const csv = 'Full name,Years,Notes\nAda,36,x\n';
  t.match(await space.run(csv), { state: 'failed' });
  t.match(await space.run(csv, columns({ 'Full name': 'name', Years: 'age', Notes: null })), { inserted: 1 });
  t.match(
    await space.run(
      '{"Full name":"Eve","age":1,"Notes":[]}',
      `format=ndjson&${columns({ 'Full name': 'name', Notes: null })}`,
    ),
    { inserted: 1 },
  );
  t.match(await space.run('x,7,Bob', `header=false&${columns({ 1: null, 2: 'age', 3: 'name' })}`), {
    inserted: 1,
  });
  t.match(await space.all(), [
    { name: 'Ada', age: 36 },
    { name: 'Eve', age: 1 },
    { name: 'Bob', age: 7 },
  ]);
  t.match(await space.run(csv, columns({ Years: 'agee' })), {
    state: 'failed',
    problems: [{ reason: /'Years' goes to 'agee', which is no field/ }],
  });
  t.match(await space.run(csv, columns({ Years: 'age', Notes: 'age', 'Full name': null })), {
    state: 'failed',
    problems: [{ reason: /two columns/ }],
  });
  t.match(await space.run('{"a":1,"age":2}', `format=ndjson&${columns({ a: 'age' })}`), {
    state: 'failed',
    problems: [{ reason: 'is given twice' }],
  });
  for (const bad of ['columns=x', 'columns=[]', columns({ a: 1 })])
    t.match(await space.begin(csv, bad), { status: 400, code: 'invalid_options' });
  // a space of the file's own fields
  const query = `dryRun=true&${columns({ 'Full name': 'name', Notes: null })}`;
  const { body } = await harness.call({
    method: 'POST',
    path: '/p/new-one/_import_',
    query,
    body: csv,
    headers: { 'content-type': 'text/csv' },
  });
  t.match(body.structure.recordStructure, [
    { name: 'name', type: 'TEXT' },
    { name: 'Years', type: 'NUMBER' },
  ]);
  t.equal(body.structure.recordStructure.length, 2);
});

t.test('a look at a file', { skip: !full }, async (t) => {
  const space = await made('look', fieldsOf('name TEXT, age NUMBER'));
  const look = async (body: string | Uint8Array, query: string) => (await space.begin(body, query)).body;
  const answer = await look('name,Years,id\nAda,36,1\nEve,,2\n', 'dryRun=true');
  t.match(answer, {
    columns: [
      { name: 'name', field: 'name' },
      { name: 'Years', field: null },
      { name: 'id', field: null },
    ],
    rows: [
      { line: 2, values: ['Ada', '36', '1'] },
      { line: 3, values: ['Eve', null, '2'] },
    ],
    records: 2,
    problems: [{ line: 1, field: 'Years', reason: /is no field/ }],
  });
  t.equal(answer.problems.length, 1);
  // what it breaks off in is left out
  const csv = `name,age\n${'Ada,36\n'.repeat(500)}`;
  const json = JSON.stringify(Array.from({ length: 500 }, () => ({ name: 'Ada', age: 36 })));
  for (const [format, file] of [
    ['csv', Buffer.from(`${csv}"Ev`)],
    ['csv', Buffer.from(`${csv}Eve,3`)],
    ['csv', Buffer.concat([Buffer.from(csv), Buffer.from('é').subarray(0, 1)])],
    ['csv', gzipSync(csv).subarray(0, 60)],
    ['ndjson', Buffer.from(`${'{"name":"Ada","age":36}\n'.repeat(500)}{"name`)],
    ['json', Buffer.from(json.slice(0, -20))],
  ] as const) {
    const start = await look(file, `dryRun=start&format=${format}`);
    t.strictSame(start.problems, [], format);
    t.ok(start.records > 0 || format === 'csv', `${start.records} records`);
  }
  t.match((await look(`${csv}"Ev`, 'dryRun=true')).problems, [{ reason: /quoted cell/ }]);
  const table = await look(
    await fileOf(`SELECT 'Ada' AS name, 36 AS age, [1] AS more`, 'Parquet'),
    'dryRun=true&format=parquet',
  );
  t.match(table, {
    columns: [{}, {}, { name: 'more', field: null }],
    rows: [{ line: 1, values: ['Ada', 36, [1]] }],
  });
  t.match(await space.begin('', 'dryRun=true'), { status: 400 });
  const twice = await harness.call({
    method: 'POST',
    path: '/p/fresh/_import_',
    query: 'dryRun=true',
    body: 'a,a\n1,2',
    headers: { 'content-type': 'text/csv' },
  });
  t.match(twice, { status: 400, code: 'invalid_body' });
});

t.test('records that are stored already', async (t) => {
  const space = await made('conflict', fieldsOf('email TEXT unique, name TEXT, code NUMBER unique'));
  const onConflict = (what: 'update' | 'skip', field = 'email'): string =>
    `onConflict=${encodeURIComponent(JSON.stringify({ field, do: what }))}`;
  await space.insert([
    { email: 'a', name: 'A', code: 1 },
    { email: 'b', name: 'B', code: 2 },
  ]);
  const csv = 'email,name\na,new A\nc,C\nb,\n';
  t.match(await space.run(csv, onConflict('skip')), {
    state: 'done',
    records: 3,
    inserted: 1,
    skipped: 2,
    updated: 0,
    problemCount: 0,
  });
  t.match(await space.all(), [
    { email: 'a', name: 'A' },
    { email: 'b', name: 'B' },
    { email: 'c', name: 'C' },
  ]);
  t.match(await space.begin(csv, onConflict('update')), { status: 400, problems: [/needs onError=skip/] });
  t.match(await space.begin(csv, onConflict('skip', 'name')), { status: 400, problems: [/unique field/] });
  const more =
    '{"email":"a","name":"second"}\n{"email":"d","name":"D"}\n{"email":"b","code":1}\n{"email":"c","code":3}';
  const job = await space.run(more, `format=ndjson&onError=skip&${onConflict('update')}`);
  t.match(job, {
    state: 'done',
    records: 4,
    inserted: 1,
    updated: 2,
    skipped: 1,
    problems: [{ line: 3, reason: /code/ }],
  });
  t.match(await space.all(), [
    { email: 'a', name: 'second', code: 1 },
    { email: 'b', name: 'B', code: 2 },
    { email: 'c', name: 'C', code: 3 },
    { email: 'd' },
  ]);
});

t.test('an uploaded file', async (t) => {
  const space = await made('uploaded', fieldsOf('n NUMBER'));
  const files = await createFileSystemStore({ root: join(harness.dataDir, 'files') });
  const name = '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b_numbers.csv.gz';
  const put = async (ownerId: string): Promise<void> => {
    const key = fileKey({ deploymentId: testDeployment, ownerId, projectSlug: 'p', name });
    const { signal } = new AbortController();
    const writer = await files.create(key, { contentType: 'application/gzip', metadata: {} }, signal);
    const bytes = gzipSync('n\n1\n2\n');
    await writer.complete({
      chunks: [bytes],
      size: bytes.byteLength,
      crc32: (await import('node:zlib')).crc32?.(bytes) ?? 0,
    });
  };
  await put('other');
  t.match(await space.begin('', `from=${name}`), { status: 404 }, 'of another account');
  await put('owner');
  t.match(await space.run('', `from=${name}`), { state: 'done', format: 'csv', inserted: 2 });
  for (const bad of ['x', '../x', `${name}x`])
    t.match(await space.begin('', `from=${encodeURIComponent(bad)}`), { status: 404 });
  const grants = { 'test-grants': JSON.stringify({ may: ['insert'] }) };
  t.match(await space.begin('', `from=${name}`, grants), { status: 403 });
  await files.close();
});
