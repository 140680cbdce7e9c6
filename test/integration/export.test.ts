/** Exports: what other programs read of them is what find answers, in each format. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import t from 'tap';
import { exportFormats } from '#query/operations/export-as.ts';
import type { StreamBody } from '#server/http/http-types.ts';
import { responseBytes } from '../services/fake-request.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { arrowRows, asArrayBuffer, parquetRows } from '../services/table-rows.ts';

type Row = Readonly<Record<string, unknown>>;

const harness = await queryHarnessFor(t);
const structure = structureOf('p', 'things', [
  ...fieldsOf('key TEXT unique, text TEXT, number NUMBER, yes BOOLEAN, list ARRAY, home OBJECT'),
  { name: 'a "b", c', type: 'TEXT' },
  { name: 'select', type: 'NUMBER' },
  { name: '_id', type: 'TEXT' },
  { name: 't0', type: 'TEXT' },
  { name: 'password', type: 'TEXT', hashed: true },
]);
const things = spaceOf(harness, 'p', 'things', structure);

const texts = [
  '',
  'x',
  '=1+1',
  '-2',
  '+3',
  '@a',
  '\ttab',
  'a,b',
  'say "hi"',
  'two\r\nlines',
  'é😀',
  '\\N',
  'NULL',
  '\0',
];
const numbers = [
  0,
  -1,
  0.1,
  0.30000000000000004,
  5e-324,
  1.7976931348623157e308,
  1e23,
  123456789.01,
  2 ** 53,
];
const records = Array.from({ length: 40 }, (_, at) => ({
  key: `k${at}`,
  ...(at % 5 === 4 ? {} : { text: texts[at % texts.length] }),
  number: numbers[at % numbers.length],
  yes: at % 3 === 0 ? null : at % 3 === 1,
  list: at % 2 === 0 ? [at, 'a', null] : null,
  home: { city: at % 4 === 0 ? 'Rome' : null, zip: at, more: { x: [1] } },
  'a "b", c': `c${at}`,
  select: at,
  _id: 'mine',
  t0: 'slot',
  password: 'secret words',
}));
await things.insert(records);
const found = (await things.find()).body as Row[];

async function exported(
  format: string,
  query = '',
  more: Readonly<Record<string, unknown>> = {},
): Promise<Buffer> {
  const response = await harness.respond({ path: `/p/things/_export_.${format}`, query, ...more });
  return responseBytes(response);
}

/** Arrays and objects are JSON text in a table. */
function asTable(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    ]),
  );
}

/** Cells of CSV as RFC 4180 has them; null: nothing, without quotes. */
function csvRows(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  const cells = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|$)/gy;
  for (
    let match = cells.exec(text);
    match !== null && cells.lastIndex <= text.length;
    match = cells.exec(text)
  ) {
    const [all, cell = '', end] = match;
    if (all === '') break;
    row.push(cell === '' ? null : cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

t.test('NDJSON and JSON are the records that find answers', async (t) => {
  const lines = (await exported('ndjson')).toString().split('\n');
  t.equal(lines.pop(), '', 'the last line ends as well');
  t.strictSame(
    lines.map((line) => JSON.parse(line)),
    found,
  );
  t.strictSame(JSON.parse((await exported('json')).toString()), found);
  t.strictSame((await exported('json', 'key=none')).toString(), '[]');
  t.strictSame((await exported('ndjson', 'key=none')).toString(), '');
});

t.test('Parquet and Arrow have typed columns', async (t) => {
  const parquet = await exported('parquet');
  t.strictSame(await parquetRows(parquet), found.map(asTable));
  const { schema } = parquetMetadata(asArrayBuffer(parquet));
  const types = Object.fromEntries(
    schema.slice(1).map(({ name, type, logical_type: logical }) => [name, logical?.type ?? type]),
  );
  t.match(types, { key: 'STRING', number: 'DOUBLE', yes: 'BOOLEAN', list: 'STRING', createdAt: 'TIMESTAMP' });
  t.notOk('password' in types);
  t.strictSame(arrowRows(await exported('arrow')), found.map(asTable));
  t.strictSame(await parquetRows(await exported('parquet', 'key=none')), []);
  t.strictSame(arrowRows(await exported('arrow', 'key=none')), []);
});

t.test('CSV', async (t) => {
  const text = (await exported('csv')).toString();
  const [header, ...rows] = csvRows(text);
  t.strictSame(header, Object.keys(found[0] as Row));
  const isNumber = (header ?? []).map((name) => name === 'number' || name === 'select');
  t.strictSame(
    rows.map((row) => row.map((cell, at) => (isNumber[at] && cell !== null ? Number(cell) : cell))),
    found.map((row) =>
      Object.values(asTable(row)).map((value) => (typeof value === 'boolean' ? String(value) : value)),
    ),
  );
  t.strictSame((await exported('csv', 'key=none&$select=key,number')).toString(), '"id","key","number"\r\n');

  const excel = (await exported('csv', '$bom=true&$escapeFormulas=true&$select=text')).toString();
  t.equal(excel.charCodeAt(0), 0xfeff);
  const shown = csvRows(excel.slice(1))
    .slice(1)
    .map(([, value]) => value);
  t.strictSame(
    shown,
    found.map(({ text: value }) => (/^'*[-=+@\t\r\n]/.test(value as string) ? `'${value}` : value)),
  );
  for (const [query, problem] of [
    ['$bom=yes', /\$bom is 'yes'/],
    ['$escapeFormulas=', /it should be true or false/],
  ] as const)
    t.match(await harness.call({ path: '/p/things/_export_.csv', query }), {
      status: 400,
      problems: [problem],
    });
  t.match(await harness.call({ path: '/p/things/_export_.ndjson', query: '$bom=true' }), {
    status: 400,
    code: 'invalid_condition',
  });
});

t.test('conditions, order, pages and columns', async (t) => {
  const keys = async (query: string, more = {}): Promise<unknown[]> =>
    (await parquetRows(await exported('parquet', query, more))).map(({ key }) => key);
  const asked = 'number[gt]=0&$sort=-select&$limit=7&$page=2';
  const expected = ((await things.find(asked)).body as Row[]).map(({ key }) => key);
  t.strictSame(await keys(asked), expected);
  const json = { 'content-type': 'application/json' };
  const body = { $or: [{ key: 'k3' }, { 'home.city': 'Rome' }], $sort: 'key' };
  t.strictSame(
    await keys('', { method: 'QUERY', body, headers: json }),
    found
      .filter(({ key, home }) => key === 'k3' || (home as Row).city === 'Rome')
      .map(({ key }) => key)
      .sort(),
  );
  t.strictSame(await keys('password=secret words&key=k1'), ['k1']);
  t.strictSame(await keys('password=wrong&key=k1'), []);

  const paths = await parquetRows(await exported('parquet', '$select=home.city,home.more,home.zip&$limit=2'));
  t.strictSame(paths, [
    { id: found[0]?.id, 'home.city': 'Rome', 'home.more': '{"x":[1]}', 'home.zip': '0' },
    { id: found[1]?.id, 'home.city': null, 'home.more': '{"x":[1]}', 'home.zip': '1' },
  ]);
});

t.test('refusals, and what a file says of itself', async (t) => {
  for (const format of exportFormats) {
    const path = `/p/things/_export_.${format}`;
    t.match(await harness.call({ path, query: 'nothing=1' }), { status: 400, code: 'invalid_condition' });
    t.match(await harness.call({ path, query: '$select=password' }), {
      status: 400,
      code: 'invalid_options',
    });
    t.match(await harness.call({ path: `/p/nothing/_export_.${format}` }), {
      status: 404,
      code: 'record_space_not_found',
    });
    const { headers } = await harness.respond({ path });
    t.equal(headers?.['content-disposition'], `attachment; filename="things.${format}"`);
    t.equal(headers?.['cache-control'], 'no-store');
  }
  t.match(await harness.call({ path: '/p/things/_export_.xls' }), { status: 404 });
});

t.test('each record is there once, while they are written', async (t) => {
  const many = structureOf('p', 'many', fieldsOf('key TEXT unique, number NUMBER'));
  const space = spaceOf(harness, 'p', 'many', many);
  const first = Array.from({ length: 3000 }, (_, at) => ({ key: `k${at}`, number: at }));
  const ids = ((await space.insert(first)).body as Row[]).map(({ id }) => id as string);
  let isOver = false;
  const write = async (at: number): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      await space.insertOne({ key: `new ${at} ${turn}`, number: turn });
      await space.updateOneById(ids[(turn * 7 + at) % ids.length] as string, { number: -turn });
    }
  };
  const writers = Promise.all([0, 1, 2, 3].map(write));
  for (const format of ['ndjson', 'parquet', 'ndjson', 'csv', 'arrow']) {
    const response = await harness.respond({ path: `/p/many/_export_.${format}`, query: '$select=key' });
    const bytes = await responseBytes(response);
    const text = bytes.toString();
    const exported =
      format === 'ndjson'
        ? text
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line).id as string)
        : format === 'csv'
          ? csvRows(text)
              .slice(1)
              .map(([id]) => id as string)
          : (format === 'arrow' ? arrowRows(bytes) : await parquetRows(bytes)).map(({ id }) => id as string);
    const seen = new Set(exported);
    t.equal(seen.size, exported.length, `${format}: none is there twice`);
    t.ok(
      ids.every((id) => seen.has(id)),
      `${format}: none is missing`,
    );
  }
  isOver = true;
  await writers;
});

t.test('a reader that goes leaves nothing on the disk', async (t) => {
  const files = async (): Promise<number> =>
    (await readdir(join(harness.dataDir, 'chdb-results')).catch(() => [])).length;
  for (const moment of ['before', 'during', 'after the first bytes'] as const) {
    const gone = new AbortController();
    const path = '/p/many/_export_.parquet';
    if (moment === 'before') gone.abort(new Error('gone'));
    const response = harness.respond({ path, signal: gone.signal });
    if (moment === 'during') setTimeout(() => gone.abort(new Error('gone')), 3);
    const outcome = await response.catch(() => null);
    if (outcome !== null) {
      const { chunks } = outcome.body as StreamBody;
      const reader = chunks[Symbol.asyncIterator]();
      if (moment !== 'during') await reader.next();
      gone.abort(new Error('gone'));
      await reader.return?.();
    }
    t.equal(await files(), 0, moment);
  }
  // no place of a stream is lost
  for (let turn = 0; turn < 40; turn++) await exported('parquet', '$limit=1');
});
