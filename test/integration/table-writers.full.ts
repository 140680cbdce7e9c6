/** Files of tables by the writers that people use, as imports and as tables (docs/import-export.md). */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { fileKey } from '#objects/file-key.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
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
  await promisify(execFile)('python3', [join(import.meta.dirname, '../services/write-tables.py'), folder], {
    env: { PATH: process.env.PATH ?? '', PYTHONPATH: packages },
  });
const skip = packages === null;

const harness = await queryHarnessFor(t);
const made = importSpaces(t, harness);
const store = await createFileSystemStore({ root: join(harness.dataDir, 'files') });
t.teardown(() => store.close());

const fileOf = (name: string): Promise<Buffer> => readFile(join(folder, name));
let spaces = 0;

/** Imports a file into a new space. Answers its job with its records, or the refusal. */
async function imported(file: Buffer, format: string, query = '') {
  const slug = `space-${spaces++}`;
  const { status, body, problems } = await harness.call({
    method: 'POST',
    path: `/p/${slug}/_import_`,
    query: `format=${format}${query}`,
    body: file,
  });
  if (status !== 202) return { status, problems };
  const space = await made(slug, []);
  const job = await space.over(body.id);
  const headers = { 'use-pre-stored-structure': 'true' };
  const records = (await harness.call({ path: `/p/${slug}`, headers })).body as Record<string, unknown>[];
  return {
    job,
    records: records.map(({ id: _, createdAt: __, updatedAt: ___, ...record }) => record),
  };
}

async function table(file: Buffer, ending: string, query = '', body: unknown = {}) {
  const name = `${randomUUID()}_a.${ending}`;
  const key = fileKey({ deploymentId: testDeployment, ownerId: 'owner', projectSlug: 'p', name });
  await storeObject(store, key, file, { contentType: 'application/octet-stream', metadata: {} });
  return harness.call({ method: 'QUERY', path: `/_f_/p/${name}`, query, body });
}

const columns = (map: object): string => `&columns=${encodeURIComponent(JSON.stringify(map))}`;

t.test('Arrow', { skip }, async (t) => {
  for (const name of ['uncompressed', 'lz4', 'zstd', 'stream'])
    t.match(
      await imported(await fileOf(`polars-${name}.arrow`), 'arrow'),
      {
        job: { state: 'done' },
        records: [
          { n: 1, t: 'a', c: 'x' },
          { n: 2, c: 'y' },
        ],
      },
      `polars ${name}`,
    );
  t.match(await imported(await fileOf('polars-empty.arrow'), 'arrow'), {
    job: { state: 'done', records: 0 },
  });
  t.match(await imported(await fileOf('pyarrow.arrow'), 'arrow'), { records: [{ n: 1, t: 'a' }, { n: 2 }] });
  for (const [name, reason] of [
    ['feather-1', /Feather version 1/],
    ['old-stream', /before version 0\.15/],
    ['int128', /integers of 128 bits/],
  ] as const)
    t.match(await imported(await fileOf(`${name}.arrow`), 'arrow'), { status: 400, problems: [reason] });
  t.match(await imported(await fileOf('keys.arrow'), 'arrow'), {
    records: [{ v: { '2020-01-02': 1 } }],
  });
  const bytes = await fileOf('bytes.arrow');
  t.match(await imported(bytes, 'arrow'), {
    job: { state: 'failed', problems: [{ line: 2, field: 'v', reason: 'is not valid UTF-8' }] },
  });
  t.match(await imported(bytes, 'arrow', columns({ v: null })), { records: [{ k: 1 }, { k: 2 }] });
});

t.test('Parquet', { skip }, async (t) => {
  for (const [name, problem] of [
    ['bytes', { line: 2, field: 'v', reason: 'is not valid UTF-8' }],
    ['fixed', { line: 1, field: 'v', reason: 'is bytes, which no field holds' }],
    ['nan', { line: 2, field: 'v', reason: /is NaN/ }],
    ['long-list', { line: 1, field: 'v', reason: /has more digits than a NUMBER can hold/ }],
  ] as const) {
    const file = await fileOf(`${name}.parquet`);
    t.match(await imported(file, 'parquet'), { job: { state: 'failed', problems: [problem] } }, name);
    const without = await imported(file, 'parquet', columns({ v: null }));
    t.match(without, { job: { state: 'done' }, records: [{ k: 1 }] }, `${name}, left out`);
    if (name === 'long-list') continue;
    const reason = name === 'nan' ? /line 2: 'v' is NaN/ : `line ${problem.line}: 'v' ${problem.reason}`;
    const answer = await table(file, 'parquet');
    t.match(answer, { status: 400, problems: [reason] }, `${name} as a table`);
    t.match(await table(file, 'parquet', '', { $select: ['k'] }), { status: 200 }, `${name}, not asked for`);
  }
  const nan = await fileOf('nan.parquet');
  t.match(await imported(nan, 'parquet', '&nan=null'), { records: [{ v: 1.5 }, { k: 2 }, { k: 3 }] });
  t.strictSame((await table(nan, 'parquet', 'nan=null')).body, [
    { k: '1', v: 1.5 },
    { k: '2', v: null },
    { k: '3', v: null },
  ]);
  for (const [name, reason] of [
    ['list-nan', /a value in it is NaN/],
    ['struct-bytes', /a value in it is not valid UTF-8/],
    ['map-long', /a value in it has more digits/],
    ['far-dates', /is a time/],
  ] as const) {
    const file = await fileOf(`${name}.parquet`);
    const message = new RegExp(`line 2: 'v' ${reason.source}`);
    for (const body of [{}, { groupBy: ['v'], values: { n: 'count' } }])
      t.match(await table(file, 'parquet', '', body), refusal('unreadable_file', message), name);
    t.match(await imported(file, 'parquet'), { job: { problems: [{ line: 2, reason }] } });
  }
  const times = await fileOf('nested-times.parquet');
  const nested = { d: '9999-12-31', t: '2020-01-02T03:04:05.000', f: Math.fround(0.1) };
  t.match(await imported(times, 'parquet'), { records: [{ v: [nested] }] });
  t.strictSame((await table(times, 'parquet')).body, [{ v: [nested] }], 'within lists as an import reads it');
  const keys = await fileOf('keys.parquet');
  const byDay = [{ v: { '2020-01-02': 1 } }, { v: {} }];
  t.match(await imported(keys, 'parquet'), { records: byDay });
  t.strictSame((await table(keys, 'parquet')).body, byDay, 'a map by days');
  const empty = await fileOf('empty.parquet');
  t.match(await imported(empty, 'parquet'), { job: { state: 'done', records: 0 } });
  t.strictSame((await table(empty, 'parquet')).body, []);
  t.match(await imported(await fileOf('empty-group.parquet'), 'parquet'), { job: { inserted: 4 } });
  const interval = await fileOf('interval.parquet');
  t.match(await imported(interval, 'parquet'), { records: [{ k: 1, v: 'P14M3DT4.5S' }] });
  t.strictSame((await table(interval, 'parquet')).body, [{ k: 1, v: 'P14M3DT4.5S' }]);
  const json = await fileOf('json.parquet');
  const texts = [{ v: '{"a":1}' }, { v: '[12345678901234567890]' }];
  t.match(await imported(json, 'parquet'), { records: texts });
  t.strictSame((await table(json, 'parquet')).body, texts);
  const dates = await fileOf('dates.parquet');
  const days = [{ d: '9999-12-31' }, { d: '1850-05-01' }];
  t.match(await imported(dates, 'parquet'), { records: [...days, {}] });
  t.strictSame((await table(dates, 'parquet')).body, [...days, { d: null }]);
  const long = await fileOf('long.parquet');
  const groups = await table(long, 'parquet', '', { groupBy: ['k'], values: { n: 'count' } });
  t.strictSame(
    groups.body.map(({ k }: { readonly k: string }) => k).sort(),
    ['1', '1727000000000000001', '1727000000000000002'],
    'integers beyond 2^53 stay apart',
  );
  const late = await fileOf('texts.parquet');
  t.match(
    await table(late, 'parquet'),
    refusal('unreadable_file', /line 1001: 'v' should be the JSON of an ARRAY/),
  );
  const twice = await fileOf('twice.parquet');
  t.match(await imported(twice, 'parquet'), {
    status: 400,
    problems: [/two of its columns have the name 'x'/],
  });
  t.match(await table(twice, 'parquet'), { status: 400, problems: [/two of its columns have the name 'x'/] });
  const unnamed = await fileOf('no-name.parquet');
  t.match(await imported(unnamed, 'parquet'), { status: 400, problems: [/column 1 has no name/] });
  t.match(await table(unnamed, 'parquet'), { status: 400, problems: [/column 1 has no name/] });
  t.match(await imported(unnamed, 'parquet', columns({ '': 'row' })), { records: [{ row: 1, v: 1 }] });
});

t.test('lists of records by parquet-avro', async (t) => {
  const file = await readFile(join(import.meta.dirname, '../files/parquet-avro-1.16.0.parquet'));
  t.match(await imported(file, 'parquet'), {
    records: [
      {
        k: 0,
        l: [{ x: 0 }, { x: 1 }],
        l2: [
          { x: 0, y: null },
          { x: 1, y: 't' },
        ],
        n: [0, 1],
        m: { a: 1 },
      },
      { k: 1, l: [], l2: [], n: [], m: {} },
      { k: 2 },
    ],
  });
});

t.test('numbers behind the first rows', { skip }, async (t) => {
  const refused = { zeros: 'should be a valid number', plus: 'should be a valid number' };
  for (const [name, reason] of Object.entries({
    ...refused,
    point: 'should be a valid number',
    small: 'is too close to 0 for a NUMBER',
    large: 'has more digits than a NUMBER can hold',
  }))
    for (const [file, query] of [
      [`late-${name}.csv`, ''],
      [`late-${name}-r.csv`, columns({ '': null })],
    ] as const) {
      const csv = await fileOf(file);
      const problem = { line: 30_002, field: 'n', reason };
      t.match(await imported(csv, 'csv', query), { job: { state: 'failed', problems: [problem] } }, file);
      const sum = { values: { sum: { sum: 'n' } } };
      const words = refusal('unreadable_file', `line 30002: 'n' ${reason}`);
      t.match(await table(csv, 'csv', query.slice(1), sum), words, `${file} as a table`);
    }
  const good = await fileOf('late-good.csv');
  t.match(await imported(good, 'csv'), { job: { inserted: 30_003 } });
  const last = [{ n: -1.5e-300 }, { n: 0 }, { n: 2 ** 60 }];
  t.strictSame((await table(good, 'csv', '', { n: { in: last.map(({ n }) => n) } })).body, last);
  const comma = await fileOf('late-comma.csv');
  const valid = /line 30002: 'n' should be a valid number/;
  t.match(await table(comma, 'csv', 'decimal=,', { n: 1.5 }), refusal('unreadable_file', valid));
});

t.test('encodings and compressions', { skip }, async (t) => {
  const utf16 = /it is UTF-16, and should be UTF-8/;
  const latin1 = /it is not valid UTF-8 near byte \d+/;
  const cut = /its compressed data is damaged, or cut/;
  for (const [file, ending, reason] of [
    ['utf-16.csv', 'csv', utf16],
    ['utf-16.ndjson', 'ndjson', utf16],
    ['latin-1.csv', 'csv', latin1],
    ['latin-1.ndjson', 'ndjson', latin1],
    ['latin-1-key.ndjson', 'ndjson', latin1],
    ['cut.csv.gz', 'csv.gz', cut],
  ] as const) {
    const bytes = await fileOf(file);
    const [format] = ending.split('.') as [string];
    t.match(await imported(bytes, format), { status: 400, problems: [reason] }, file);
    t.match(await table(bytes, ending), refusal('unreadable_file', reason), `${file} as a table`);
  }
  for (const format of ['csv', 'ndjson']) {
    const gzip = await fileOf(`words.${format}.gz`);
    const rows = [
      { k: 1, t: 'été' },
      { k: 2, t: 'x' },
    ];
    t.match(await imported(gzip, format), { records: rows });
    t.strictSame((await table(gzip, `${format}.gz`)).body, rows);
    const named = /compressed with gzip, and its name should end in \.gz/;
    t.match(await table(gzip, format), refusal('unreadable_file', named));
    const zstd = await fileOf(`words.${format}.zst`);
    for (const ending of [format, `${format}.zst`])
      t.match(
        await table(zstd, ending),
        refusal('unreadable_file', /compressed with zstd, which only imports/),
      );
  }
});

t.test('null lists, maps and structs', { skip }, async (t) => {
  for (const writer of ['pyarrow', 'pyarrow-2', 'polars', 'duckdb']) {
    const file = await fileOf(`groups-${writer}.parquet`);
    t.match(await imported(file, 'parquet'), { job: { inserted: 3 } });
    const read = await table(file, 'parquet', '', { $select: ['k', 'empty'] });
    t.strictSame(
      read.body,
      [[1, null], [], [2]].map((empty, index) => ({ k: `${index + 1}`, empty })),
      writer,
    );
    for (const [name, reason] of [
      ['list', "line 3: 'list' is null"],
      ['struct', "line 3: 'struct' is null"],
      ...(writer === 'polars' ? [] : [['map', "line 3: 'map' is null"] as const]),
      ['inside', "line 2: 'inside' has a null list, map or struct in it"],
    ] as const) {
      const refused = refusal(
        'unreadable_file',
        new RegExp(`${reason}, which only imports tell from an empty one`),
      );
      t.match(await table(file, 'parquet', '', { $select: [name] }), refused, `${writer}: ${name}`);
      t.match(await table(file, 'parquet', '', { [name]: { exists: true }, values: { n: 'count' } }), {
        status: 400,
      });
    }
    t.match(await table(file, 'parquet', '', { $select: ['list'], $limit: 2 }), {
      body: [{ list: [1] }, { list: [] }],
    });
    t.strictSame((await table(file, 'parquet', '', { values: { n: 'count' } })).body, [{ n: 3 }]);
  }
});

t.test('CSV of pandas', { skip }, async (t) => {
  const csv = await fileOf('pandas.csv');
  const query = `&nulls=NA${columns({ '': null })}`;
  t.match(await imported(csv, 'csv', query), { records: [{ n: 1.5, t: 'x' }, {}] });
  const { body: look } = await harness.call({
    method: 'POST',
    path: '/p/new/_import_',
    query: `dryRun=true&format=csv`,
    body: csv,
  });
  t.match(look, { suggested: { nulls: 'NA' }, problems: [{ reason: /column 1 has no name/ }] });
});
