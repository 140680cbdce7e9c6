/** Types of files, as imports and queries of files infer them, and their values (docs/import-export.md). */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { fileKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { responseBytes } from '../services/fake-request.ts';
import { importSpaces } from '../services/import-spaces.ts';
import { testDeployment } from '../services/new-file.ts';
import { installPython } from '../services/python-packages.ts';
import { queryHarnessFor, refusal } from '../services/query-harness.ts';
import { storeObject } from '../services/store-object.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const writers = ['pyarrow==26.0.1', 'pandas==3.1.1', 'polars==2.1.0', 'duckdb==2.0.1'];
const packages = await installPython(writers);
if (packages === null)
  t.comment('NOT TESTED with their writers: it takes Python 3 with pip to install them.');
const folder = await temporaryFolder(t);
if (packages !== null)
  await promisify(execFile)('python3', [join(import.meta.dirname, '../services/write-types.py'), folder], {
    env: { PATH: process.env.PATH ?? '', PYTHONPATH: packages },
  });
const skip = packages === null;

const harness = await queryHarnessFor(t);
const made = importSpaces(t, harness);
const store = await createFileSystemStore({ root: join(harness.dataDir, 'files') });
t.teardown(() => store.close());
let spaces = 0;

const endings: Readonly<Record<string, string>> = { json: 'ndjson' };

/** Imports a file into a new space: its job, the types of its fields and its records; and the answer of a query of the file. */
async function read(name: string, query = '') {
  const file = await readFile(join(folder, name));
  const written = name.split('.').at(-1) as string;
  const ending = endings[written] ?? written;
  const slug = `space-${spaces++}`;
  const path = `/p/${slug}/_import_`;
  const call = { method: 'POST', path, query: `format=${ending}${query && `&${query}`}`, body: file };
  const preview = await harness.call({ ...call, query: `${call.query}&dryRun=true` });
  const { body, problems } = await harness.call(call);
  const job = problems.length > 0 ? { problems } : await (await made(slug, [])).over(body.id);
  const headers = { 'use-pre-stored-structure': 'true' };
  const found = await harness.call({ path: `/p/${slug}`, headers });
  const stored = `${randomUUID()}_a.${ending}`;
  const key = fileKey({ deploymentId: testDeployment, ownerId: 'owner', projectSlug: 'p', name: stored });
  await storeObject(store, key, file, { contentType: 'application/octet-stream', metadata: {} });
  const table = await harness.call({ method: 'QUERY', path: `/_f_/p/${stored}`, query, body: {} });
  const ask = async (body: unknown): Promise<unknown> => {
    const answer = await harness.call({ method: 'QUERY', path: `/_f_/p/${stored}`, query, body });
    return answer.body ?? answer.problems;
  };
  /** A file with what the space has. */
  const exported = async (format: 'parquet' | 'arrow'): Promise<string> => {
    const response = await harness.respond({ path: `/p/${slug}/_export_.${format}` });
    const file = join(folder, `${slug}.${format}`);
    await writeFile(file, await responseBytes(response));
    return file;
  };
  return {
    ask,
    exported,
    job,
    types: typesOf(preview.body.structure),
    records: (Array.isArray(found.body) ? found.body : []).map(
      ({ id: _, createdAt: __, updatedAt: ___, ...record }: Record<string, unknown>) => record,
    ),
    table,
  };
}

function typesOf(structure: { readonly recordStructure?: readonly Record<string, unknown>[] }) {
  const fields = (structure?.recordStructure ?? []).map(({ name, type, precision, scale }) => [
    name,
    precision === undefined ? type : `${type}(${precision},${scale})`,
  ]);
  return Object.fromEntries(fields) as Record<string, string>;
}

const types = {
  seconds: 'DATETIME',
  millis: 'DATETIME',
  micros: 'DATETIME',
  nanos: 'DATETIME',
  day: 'DATE',
  day64: 'DATE',
  time32: 'TEXT',
  time64: 'TEXT',
  time9: 'TEXT',
  int8: 'INTEGER',
  uint32: 'INTEGER',
  int64: 'BIGINT',
  uint64: 'BIGINT',
  cents: 'DECIMAL(9,2)',
  money: 'DECIMAL(18,4)',
  exact: 'DECIMAL(38,10)',
  wide: 'DECIMAL(38,2)',
  whole: 'DECIMAL(20,0)',
  float32: 'NUMBER',
  float64: 'NUMBER',
  flag: 'BOOLEAN',
  text: 'TEXT',
  times: 'ARRAY',
  local: 'ARRAY',
  parts: 'OBJECT',
};
const first = {
  seconds: '2020-01-01T01:02:03.000Z',
  millis: '2020-01-01T01:02:03.456Z',
  micros: '2020-01-01T01:02:03.456789Z',
  nanos: '2020-01-01T01:02:03.456789Z',
  day: '2020-01-01',
  day64: '2020-01-01',
  time32: '12:34:56.789',
  time64: '12:34:56.789012',
  time9: '12:34:56.789012345',
  int8: -128,
  uint32: 4294967295,
  int64: '-9223372036854775808',
  uint64: '9223372036854775807',
  cents: '12.30',
  money: '99999999999999.9999',
  exact: '-1234567890123456789012345678.1234567890',
  wide: '123456789012345678901234567890.12',
  whole: '12345678901234567890',
  float32: 1.5,
  float64: 0.1,
  flag: true,
  text: '2020-01-01',
  times: ['2020-01-01T01:02:03.456789Z', '9999-12-31T23:59:59.999999Z'],
  local: ['2020-01-01T01:02:03.456789'],
  parts: {
    day: '9999-12-31',
    price: 1.5,
    time: '12:34:56.789',
    nanos: '2020-01-01T01:02:03.456789001Z',
    n: 7,
  },
};
const second = {
  seconds: '0001-01-01T00:00:00.000Z',
  millis: '9999-12-31T23:59:59.999Z',
  micros: '9999-12-31T23:59:59.999999Z',
  nanos: '1969-12-31T23:59:59.999999Z',
  day: '9999-12-31',
  day64: '0001-01-01',
  time32: '00:00:00',
  time64: '23:59:59.999999',
  time9: '00:00:00.001',
  int8: 127,
  uint32: 0,
  int64: '9007199254740993',
  uint64: '1',
  cents: '-0.05',
  money: '0.0000',
  exact: '0.0000000001',
  wide: '1.00',
  whole: '-1',
  float32: 0,
  float64: 1e300,
  flag: false,
  text: '',
  times: [],
  local: ['2020-01-01T01:02:03.000'],
  parts: {
    day: '0001-01-01',
    price: 100,
    time: '00:00:00',
    nanos: '2020-01-01T01:02:03.456789Z',
    n: 2 ** 53,
  },
};
const none = Object.fromEntries(Object.keys(types).map((name) => [name, null]));

t.test('a file that says its types', { skip }, async (t) => {
  for (const name of ['pyarrow.parquet', 'pyarrow-v2.parquet', 'pyarrow.arrow']) {
    const { job, types: found, records, table } = await read(name);
    t.match(job, { state: 'done', inserted: 3 }, name);
    t.strictSame(found, types, name);
    t.strictSame(records, [first, second, none], name);
    // queries of files tell no null list or struct from an empty one
    if (!name.endsWith('arrow'))
      t.match(table, refusal('unreadable_file', /only imports tell from an empty/));
  }
  const left = { times: null, local: null, parts: null };
  const flat = `columns=${encodeURIComponent(JSON.stringify(left))}`;
  const without = ({ times: _, local: __, parts: ___, ...rest }: Record<string, unknown>) => rest;
  for (const name of ['pyarrow.parquet', 'pyarrow-v2.parquet']) {
    const { table } = await read(name, flat);
    t.strictSame(table.body, [first, second, none].map(without), `${name} as a table`);
  }
  const { types: encoded, records } = await read('dictionary.arrow');
  t.strictSame(encoded, { micros: 'DATETIME', day: 'DATE', int64: 'BIGINT', cents: 'DECIMAL(9,2)' });
  const { micros, day, int64, cents } = first;
  t.match(records, [{ micros, day, int64, cents }]);
});

t.test('the same table by others', { skip }, async (t) => {
  const row = {
    at: '2020-01-01T01:02:03.456789Z',
    day: '2020-01-01',
    time: '12:34:56.789012',
    n: '9007199254740993',
    small: 7,
    price: '12.30',
  };
  const nothing = Object.fromEntries(Object.keys(row).map((name) => [name, null]));
  const typed = {
    at: 'DATETIME',
    day: 'DATE',
    time: 'TEXT',
    n: 'BIGINT',
    small: 'INTEGER',
    price: 'DECIMAL(12,2)',
  };
  for (const name of ['polars.parquet', 'polars.arrow', 'duckdb.parquet']) {
    const { types: found, records, table } = await read(name);
    t.strictSame(found, typed, name);
    t.match(records, [row, nothing], name);
    if (!name.endsWith('arrow')) t.strictSame(table.body, [row, nothing], `${name} as a table`);
  }
  const inText = { at: 'DATETIME', day: 'DATE', time: 'TEXT', n: 'TEXT', small: 'NUMBER', price: 'NUMBER' };
  for (const name of ['polars.csv', 'duckdb.csv']) {
    const { types: found, records, table } = await read(name);
    t.strictSame(found, inText, name);
    // polars writes nine digits
    const time = new RegExp(`^${row.time}(?:000)?$`);
    t.match(records, [{ ...row, price: 12.3, time }, nothing], name);
    t.strictSame(table.body, records, `${name} as a table`);
  }
});

t.test('columns with times and decimals answer as fields do', { skip }, async (t) => {
  for (const name of ['polars.parquet', 'polars.csv', 'duckdb.parquet']) {
    const { ask } = await read(name);
    const bucket = { bucket: 'at', every: '1d', timeZone: 'Asia/Kathmandu', fill: true };
    t.strictSame(
      await ask({ groupBy: [bucket], values: { n: 'count', least: { min: 'day' } }, having: { n: 1 } }),
      [
        { at: '2020-01-01T00:00:00+05:45', n: 1, least: '2020-01-01' },
        { at: null, n: 1, least: null },
      ],
      name,
    );
    t.match(await ask({ at: { gt: '2020-01-01T01:02:03.456788Z' }, day: { in: ['2020-01-01'] } }), [
      { small: 7 },
    ]);
    t.strictSame(await ask({ at: { gt: '2020-01-01T01:02:03.456789Z' } }), []);
    t.match(await ask({ $sort: '-at', $select: ['at', 'n'] }), [
      { n: first.int64 && '9007199254740993' },
      { n: null },
    ]);
  }
  const { ask } = await read(
    'pyarrow.parquet',
    `columns=${encodeURIComponent('{"times":null,"local":null,"parts":null}')}`,
  );
  const sums = {
    cents: { sum: 'cents' },
    exact: { max: 'exact' },
    wide: { sum: 'wide' },
    long: { min: 'int64' },
  };
  t.strictSame(await ask({ values: sums }), [
    { cents: '12.25', exact: '0.0000000001', wide: '123456789012345678901234567891.12', long: first.int64 },
  ]);
  t.match(await ask({ exact: { lt: '0' }, $select: ['text'] }), [{ text: first.text }]);
});

t.test('what is imported and exported is what was written', { skip }, async (t) => {
  for (const name of ['pyarrow.parquet', 'pyarrow.arrow', 'polars.parquet', 'duckdb.parquet'])
    for (const format of ['parquet', 'arrow'] as const) {
      const { exported } = await read(name);
      const args = [
        join(import.meta.dirname, '../services/compare-tables.py'),
        join(folder, name),
        await exported(format),
      ];
      const env = { PATH: process.env.PATH ?? '', PYTHONPATH: packages ?? '' };
      const { stdout } = await promisify(execFile)('python3', args, { env });
      t.ok(Number(stdout) >= 6, `${name} as ${format}: ${stdout.trim()} values`);
    }
});

t.test('times without a zone', { skip }, async (t) => {
  const at = '2020-07-01T10:00:00.000Z';
  for (const ending of ['parquet', 'arrow', 'csv']) {
    const named = await read(`plain.${ending}`, 'timeZone=Europe/Paris');
    t.match(named, { types: { at: 'DATETIME' }, records: [{ at }, { at: null }] }, ending);
    if (ending !== 'arrow') t.match(named.table.body, [{ at }, { at: null }], `${ending} as a table`);
    if (ending !== 'csv') {
      const reason = /has no time zone: timeZone=Europe\/Paris/;
      const { job, table } = await read(`plain.${ending}`);
      t.match(job, { state: 'failed', problems: [{ line: 1, field: 'at', reason }] });
      if (ending === 'parquet') t.match(table, refusal('unreadable_file', reason));
    }
    for (const [name, reason] of [
      ['skipped', /is skipped by the clocks of Europe\/Paris/],
      ['twice', /is there twice by the clocks of Europe\/Paris/],
    ] as const) {
      const { job, types: found, table } = await read(`${name}.${ending}`, 'timeZone=Europe/Paris');
      if (ending === 'csv') {
        t.strictSame(found, { at: 'TEXT', k: 'NUMBER' }, 'not all are times');
        continue;
      }
      t.match(job, { state: 'failed', problems: [{ line: 1, reason }] }, `${name}.${ending}`);
      if (ending === 'parquet') t.match(table, refusal('unreadable_file', reason));
    }
  }
  t.match(await read('plain.csv'), { types: { at: 'TEXT' }, records: [{ at: '2020-07-01 12:00:00' }] });
});

t.test('what no field holds, and types without values', { skip }, async (t) => {
  for (const [name, reason] of [
    ['beyond', /digits beyond the microsecond/],
    ['unsigned', /should be a valid whole number of 64 bits/],
  ] as const) {
    const { job, table } = await read(`${name}.parquet`);
    t.match(job, { state: 'failed', problems: [{ line: 1, reason }] });
    t.match(table, refusal('unreadable_file', reason));
  }
  t.match(await read('late.parquet'), { job: { state: 'done' }, types: { n: 'NUMBER', b: 'BOOLEAN' } });
  t.match(await read('empty.parquet'), { job: { state: 'done' }, types: { n: 'BIGINT', v: 'ARRAY' } });
});

t.test('a table has the values of an import', { skip }, async (t) => {
  const at = '1970-01-01T00:00:00.000Z';
  const beforeParis = '1969-12-31T23:00:00.000Z';
  for (const [names, values, query = ''] of [
    [
      ['negative.parquet'],
      [{ v: ['1969-12-31T23:59:59.999999999Z'] }, { v: ['1969-12-31T23:59:59.999999Z'] }],
    ],
    [
      ['keys.parquet', 'keys.arrow'],
      [
        {
          long: { '9007199254740993': 1 },
          unsigned: { '18446744073709551615': 1 },
          price: { '123456789012345678.50': 1 },
          double: { '1e+22': 1 },
          day: { '0001-01-01': 1 },
        },
      ],
    ],
    [
      ['bytes.parquet', 'bytes.arrow'],
      [
        { list: [1, 255, null], pair: [97, 98], inside: { v: [97] } },
        { list: [], pair: [0, 1], inside: { v: [] } },
      ],
    ],
    [['dotted.parquet'], [{ 'a.b': beforeParis, a: at }], 'timeZone=Europe/Paris'],
    [
      ['nothing.parquet', 'nothing.arrow'],
      [
        { v: null, k: '1' },
        { v: null, k: '2' },
      ],
    ],
    [
      ['offsets.csv', 'offsets.ndjson'],
      [
        { at: '2020-01-01T12:00:00.000Z' },
        { at: '2020-01-01T17:30:00.500Z' },
        { at: '2020-01-01T11:00:00.000Z' },
        { at: '2020-01-01T11:00:00.000Z' },
      ],
      'timeZone=Europe/Paris',
    ],
    [['exact.parquet', 'exact.csv', 'exact.ndjson'], [{ o: { id: '12345678901234567890\\"', n: 2 ** 53 } }]],
    [['colon.csv', 'colon.ndjson'], [{ at: '2020-01-01T12:00:00+01:' }]],
  ] as const)
    for (const name of names) {
      const { records, table, types: found } = await read(name, query);
      t.strictSame(records, values, name);
      if (!name.endsWith('arrow')) t.strictSame(table.body, values, `${name} as a table`);
      if (name.startsWith('nothing')) t.equal(found.v, 'TEXT', `${name}: a column of nulls says no type`);
    }
  for (const name of ['year0.parquet', 'far.parquet']) {
    const { job, table } = await read(name);
    const reason = /is a time that is out of range/;
    t.match(job, { state: 'failed', problems: [{ line: 2, field: 'at', reason }] }, name);
    t.match(table, refusal('unreadable_file', reason), `${name} as a table`);
  }
  const { records, table } = await read('int96.parquet');
  t.strictSame(records, [{ at }, { at: '0001-01-01T00:00:00.000Z' }]);
  t.match(table, refusal('unreadable_file', /column 'at' has INT96 times that only imports read/));
  for (const name of ['rounded.parquet', 'rounded.csv', 'rounded.ndjson']) {
    const { job, table } = await read(name);
    const reason = /has more digits than a NUMBER can hold/;
    t.match(job, { state: 'failed', problems: [{ reason }] }, name);
    t.match(table, refusal('unreadable_file', reason), `${name} as a table`);
  }
});
