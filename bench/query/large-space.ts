/**
 * Question: how many records can a space have on one shard? The figures of docs/decisions/035-large-spaces-over-shards.md:
 * `node --import tsx bench/query/large-space.ts [--rows 100000,1000000,10000000] [--rounds N]`
 *
 * One space of six fields, one of them unique, and 100,000 records of 1,000 other spaces, in the service's tables in the
 * embedded engine. It grows from size to size, and each statement runs at every size. CPU time of all threads and wall
 * time, medians in milliseconds. Compare the CPU time: other work on the machine changes the wall time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import { aggregateSql, costSql } from '#records/sql/aggregate-sql.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import type { Field } from '#records/structure/field.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000,1000000,10000000' },
    rounds: { type: 'string', default: '9' },
  },
});
const sizes = options.rows.split(',').map(Number);
const rounds = Number(options.rounds);
const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
const db = openChdb({ path: join(folder, 'chdb') });
await migrate(db, 'sluice', migrations);
const table = new RecordsTable(db, 'sluice');

const space = '00000000-0000-5000-8000-000000000001';
const columns = 'space, _id, _created_at, _updated_at, t0, t1, t2, n0, n1, b0, _doc';
const idSql = `concat('019', leftPad(lower(hex(number)), 16, '0'), '-7000-8000-000000000000')`;
const idOf = (row: number): string => `019${row.toString(16).padStart(16, '0')}-7000-8000-000000000000`;
const emailSql = `concat('person-', toString(number), '@example.com')`;
const emailOf = (row: number): string => `person-${row}@example.com`;
/** The map that the service stores for a record, which look-ups return. */
const docSql = `map('t0', ${emailSql}, 't1', name, 't2', 'London', 'n0', toString(number % 100), 'n1', toString(number), 'b0', 'true')`;

async function fill(spaceSql: string, from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += 500_000) {
    const numbers = `numbers(${first}, ${Math.min(500_000, to - first)})`;
    await db.command({
      sql: `INSERT INTO sluice.records (${columns}) SELECT ${spaceSql}, ${idSql}, now64(3), now64(3), ${emailSql},
        concat('Person ', toString(number % 1000)) AS name, 'London', number % 100, number, true, ${docSql} FROM ${numbers}`,
    });
  }
}

interface Times {
  readonly cpu: number;
  readonly wall: number;
}

async function timed(work: () => Promise<unknown>): Promise<Times> {
  const began = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wall: performance.now() - began, cpu: (user + system) / 1000 };
}

let written = 0;
/** Inserts like the service: keys, then records. */
async function insert(amount: number): Promise<void> {
  const time = '2026-01-01 00:00:00.000';
  const rows: string[] = [];
  for (let index = 0; index < amount; index++) {
    const _id = `new-${written++}`;
    const t0 = `${_id}@example.com`;
    const _doc = { t0, t1: 'Person 1', t2: 'London', n0: '1', n1: '2', b0: 'true' };
    const values = { t0, t1: 'Person 1', t2: 'London', n0: 1, n1: 2, b0: true };
    rows.push(`${JSON.stringify({ space, _id, _created_at: time, _updated_at: time, ...values, _doc })}\n`);
  }
  await db.insert({ ...table.recordRows, lines: Buffer.from(rows.join('')) });
}

/** Rows of a round, far from each other and from other rounds' rows. */
const rowsOf = (round: number, amount: number, size: number): number[] =>
  Array.from({ length: amount }, (_, index) => (round * 7919 + index * 104_729 + 13) % size);

const ids = (round: number, amount: number, size: number): string =>
  table.selectByIds(
    rowsOf(round, amount, size).map((row) => ({ spaceId: space, id: idOf(row) })),
    '_id, _doc',
  ).sql;
const keyed = (round: number, amount: number, size: number): string =>
  table.selectByValues(
    rowsOf(round, amount, size).map((row) => ({ spaceId: space, slot: 't0', value: emailOf(row) })),
    '_id, _doc',
  ).sql;
const select = (columns: string, where: string | null, tail: string): string =>
  table.select(space, { columns, where, tail }).sql;

/** Several finds of 20 records each in one statement. */
const ranges = (round: number, finds: number, size: number): string => {
  const each = rowsOf(round, finds, size).map((row) => `n1 >= ${row} AND n1 < ${row + 20}`);
  return select('_id, _doc', `(${each.join(' OR ')})`, 'ORDER BY _id');
};
const lists = (round: number, finds: number, size: number, columns = '_id, _doc'): string =>
  select(columns, `n1 IN (${rowsOf(round, finds * 3, size).join()})`, 'ORDER BY _id');

const fieldOf = (slot: string) => ({ slot, type: slot.startsWith('n') ? 'NUMBER' : 'TEXT' }) as Field;

/** The service's own statement for groups. */
function grouped(slot: string): string {
  const n1 = { target: fieldOf('n1'), path: [], level: 0.95 };
  const { columns, tail = '' } = aggregateSql(
    {
      where: allRecords,
      having: allRecords,
      sort: [],
      limit: 100,
      groups: [{ name: 'group', column: '_g0', target: fieldOf(slot), path: [], fill: false }],
      values: [
        { name: 'count', column: '_v0', of: null },
        { name: 'sum', column: '_v1', of: { ...n1, name: 'sum' } },
        { name: 'p95', column: '_v2', of: { ...n1, name: 'quantile' } },
      ],
    },
    costSql(0),
    null,
  );
  return select(columns, null, tail);
}

const statements: readonly (readonly [string, (round: number, size: number) => string])[] = [
  ['a record by its id', (round, size) => ids(round, 1, size)],
  ['64 records by their ids', (round, size) => ids(round, 64, size)],
  ['a record by its unique value', (round, size) => keyed(round, 1, size)],
  ['64 records by unique values', (round, size) => keyed(round, 64, size)],
  ['a page of 100 from the start', () => select('_id, _doc', null, 'ORDER BY _id LIMIT 100')],
  [
    'find by two fields, 20 of many that match',
    (round) =>
      select('_id, _doc', `n0 = ${round % 100} AND t1 = 'Person ${round % 100}'`, 'ORDER BY _id LIMIT 20'),
  ],
  [
    'find by a field, one that matches, without an index',
    (round, size) => select('_id, _doc', `n1 = ${rowsOf(round, 1, size)[0]}`, 'ORDER BY _id LIMIT 20'),
  ],
  ['find 20 by a range', (round, size) => ranges(round, 1, size)],
  ['64 such finds in one statement', (round, size) => ranges(round, 64, size)],
  ['find by a list of three', (round, size) => lists(round, 1, size)],
  ['64 such finds by lists in one statement', (round, size) => lists(round, 64, size)],
  ['the same, with two values of six', (round, size) => lists(round, 64, size, '_id, t1, n1')],
  ['count of all', () => select('count()', null, '')],
  ['count by a field', (round) => select('count()', `n0 = ${round % 100}`, '')],
  ['count, sum and p95 of 100 groups by a number', () => grouped('n0')],
  ['count, sum and p95 of 1,000 groups by a text', () => grouped('t1')],
  ['the first 20 by a field', () => select('_id, _doc', null, 'ORDER BY n1 DESC LIMIT 20')],
];

const results = new Map<string, string[]>();
const note = (what: string, text: string): void => {
  results.set(what, [...(results.get(what) ?? []), text]);
  progress(`${what}: ${text}`);
};
const ms = (value: number): string => (value < 100 ? value.toFixed(1) : value.toFixed(0));

async function measure(what: string, work: (round: number) => Promise<unknown>): Promise<void> {
  await work(rounds);
  const taken: Times[] = [];
  for (let round = 0; round < rounds; round++) taken.push(await timed(() => work(round)));
  note(what, `${ms(median(taken.map(({ cpu }) => cpu)))} (${ms(median(taken.map(({ wall }) => wall)))})`);
}

async function once<Row>(sql: string): Promise<Row> {
  return (await db.rows<Row>({ sql }))[0] as Row;
}

async function storage(): Promise<void> {
  const of = (name: string) =>
    once<{ bytes: number; memory: number; parts: number }>(`SELECT toFloat64(sum(bytes_on_disk)) AS bytes,
      toFloat64(sum(primary_key_bytes_in_memory)) AS memory, toFloat64(count()) AS parts
      FROM system.parts WHERE active AND database = 'sluice' AND table = '${name}'`);
  const [records, keys] = [await of('records'), await of('record_keys')];
  const mib = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);
  note('MiB on disk, records and keys', `${mib(records.bytes)} + ${mib(keys.bytes)}`);
  note('MiB of primary keys in memory', mib(records.memory + keys.memory));
}

await fill(
  `toUUID(concat('10000000-0000-5000-8000-', leftPad(lower(hex(number % 1000)), 12, '0')))`,
  0,
  100_000,
);
let filled = 0;
for (const size of sizes) {
  progress(`${size} records`);
  const loaded = await timed(() => fill(`toUUID('${space}')`, filled, size));
  note('rows a CPU-second, INSERT of 500,000', String(Math.round(((size - filled) / loaded.cpu) * 1000)));
  filled = size;
  const merged = await timed(async () => {
    for (const name of ['records', 'record_keys'])
      await db.command({ sql: `OPTIMIZE TABLE sluice.${name} FINAL` });
  });
  note(
    'merging all parts into one, s',
    `${(merged.cpu / 1000).toFixed(1)} (${(merged.wall / 1000).toFixed(1)})`,
  );
  await storage();
  for (const [what, sql] of statements) await measure(what, (round) => db.rows({ sql: sql(round, size) }));
  for (const amount of [64, 5000]) await measure(`INSERT of ${amount} with keys`, () => insert(amount));
  for (const amount of [1, 64]) {
    await measure(`UPDATE of ${amount}`, (round) => {
      const rows = rowsOf(round, amount, size).map((row) => ({
        spaceId: space,
        id: idOf(row),
        assignments: [{ slot: 'n1', value: round }],
      }));
      return db.command(table.update(rows, new Date()));
    });
  }
  const scan = statements.find(([what]) => what === 'count by a field') as (typeof statements)[number];
  await measure('count by a field, with these updates pending', (round) =>
    db.rows({ sql: scan[1](round, size) }),
  );
}
const head = ['', ...sizes.map((size) => `${size.toLocaleString('en')} records`)];
const lines = [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`];
for (const [what, texts] of results) lines.push(`| ${what} | ${texts.join(' | ')} |`);
process.stdout.write(`CPU ms (wall ms)\n\n${lines.join('\n')}\n\n${machineLine(describeMachine())}\n`);
await db.close();
await rm(folder, { recursive: true, force: true });
