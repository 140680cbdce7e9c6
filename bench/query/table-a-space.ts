/**
 * Question: what does one table for all records cost against a table for each space? The figures of
 * docs/decisions/022-one-records-table.md: `node --import tsx bench/query/table-a-space.ts [--rows N] [--rounds N]`
 *
 * In one engine lie the same rows twice: in a typed table of their own (ORDER BY `_id`), and in the records table beside as
 * many rows of 10,000 other spaces. Each statement is asked of both in turn. Wall time and CPU time, medians in milliseconds.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import { migrate } from '../../common/metadata/migrate.ts';
import { migrations } from '../../common/metadata/migrations.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '500000' }, rounds: { type: 'string', default: '15' } },
});
const [rows, rounds] = [options.rows, options.rounds].map(Number) as [number, number];
const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
const db = openChdb({ path: join(folder, 'chdb') });
await migrate(db, 'sluice', migrations);

const space = '00000000-0000-5000-8000-000000000001';
const id = `concat('019', leftPad(lower(hex(number)), 16, '0'), '-7000-8000-000000000000')`;
const email = `concat('person-', toString(number), '@example.com')`;
const name = `concat('Person ', toString(number % 1000))`;
const doc = `map('t0', ${email}, 't1', ${name}, 't2', 'London', 'n0', toString(number % 100), 'n1', toString(number), 'b0', 'true')`;
const columns = 'space, _id, _created_at, _updated_at, t0, t1, t2, n0, n1, b0, _doc';
const fill = (spaceSql: string): string =>
  `INSERT INTO sluice.records (${columns}) SELECT ${spaceSql}, ${id}, now64(3), now64(3), ${email}, ${name}, 'London',
   number % 100, number, true, ${doc} FROM numbers(${rows})`;

progress(`${rows} rows in a table of their own, and twice as many in the records table`);
await db.command({
  sql: `CREATE TABLE sluice.own (_id String, _created_at DateTime64(3, 'UTC'), _updated_at DateTime64(3, 'UTC'),
    email Nullable(String), name Nullable(String), city Nullable(String), age Nullable(Float64), score Nullable(Float64),
    active Nullable(Bool)) ENGINE = MergeTree ORDER BY _id
    SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1`,
});
await db.command({
  sql: `INSERT INTO sluice.own SELECT ${id}, now64(3), now64(3), ${email}, ${name}, 'London', number % 100, number, true
    FROM numbers(${rows})`,
});
await db.command({ sql: fill(`toUUID('${space}')`) });
await db.command({
  sql: fill(
    `toUUID(concat('10000000-0000-5000-8000-', leftPad(lower(hex(toUInt32(number % 10000))), 12, '0')))`,
  ),
});
for (const table of ['own', 'records']) await db.command({ sql: `OPTIMIZE TABLE sluice.${table} FINAL` });

const record = (fields: readonly string[]): string =>
  `concat('{"id":', toJSONString(_id), ${fields.map((field) => `',"x":', ifNull(toJSONString(${field}), 'null')`).join(', ')}, '}')`;
const own = record(['email', 'name', 'city', 'age', 'score', 'active']);
const slots = record(['t0', 't1', 't2', 'n0', 'n1', 'b0']);
const at = (round: number): number => (round * 7919) % 1000;
/** As the service sends rows: 64 of a table of its own, and 64 of 64 spaces. */
function batch(round: number, size: number): Readonly<Record<'own' | 'records', () => Promise<void>>> {
  const time = '2026-01-01 00:00:00.000';
  const line = (row: object): string => `${JSON.stringify(row)}\n`;
  const text = (make: (index: number, id: string) => object): Buffer =>
    Buffer.from(
      Array.from({ length: size }, (_, index) => line(make(index, `new-${round}-${index}`))).join(''),
    );
  const values = { _created_at: time, _updated_at: time };
  const fields = { email: 'a@example.com', name: 'b', city: 'c', age: 1, score: 2, active: true };
  const inSlots = { t0: 'a@example.com', t1: 'b', t2: 'c', n0: 1, n1: 2, b0: true };
  const _doc = { t0: 'a@example.com', t1: 'b', t2: 'c', n0: '1', n1: '2', b0: 'true' };
  const own = text((_, _id) => ({ _id, ...values, ...fields }));
  const records = text((index, _id) => ({
    space: `20000000-0000-5000-8000-0000000000${10 + (index % 64)}`,
    _id,
    ...values,
    ...inSlots,
    _doc,
  }));
  return {
    own: () => db.insert({ table: 'sluice.own', lines: own }),
    records: () => db.insert({ table: 'sluice.records', lines: records }),
  };
}

const measures: readonly (readonly [string, (round: number) => string, (round: number) => string])[] = [
  [
    'find by two fields, LIMIT 20',
    (round) =>
      `SELECT ${own} FROM sluice.own WHERE age = ${at(round) % 100} AND name = 'Person ${at(round)}' ORDER BY _id LIMIT 20`,
    (round) =>
      `SELECT ${slots} FROM sluice.records WHERE space = '${space}' AND n0 = ${at(round) % 100} AND t1 = 'Person ${at(round)}' ORDER BY _id LIMIT 20`,
  ],
  [
    'count by one field',
    (round) => `SELECT count() FROM sluice.own WHERE age = ${at(round) % 100}`,
    (round) => `SELECT count() FROM sluice.records WHERE space = '${space}' AND n0 = ${at(round) % 100}`,
  ],
];

async function timed(work: () => Promise<unknown>): Promise<{ wall: number; cpu: number }> {
  const began = performance.now();
  const before = process.cpuUsage();
  await work();
  const used = process.cpuUsage(before);
  return { wall: performance.now() - began, cpu: (used.user + used.system) / 1000 };
}

const lines = ['| | table a space, ms (CPU) | one table, ms (CPU) | ratio of CPU |', '|---|---|---|---|'];
const reads = measures.map(([what, inOwn, inRecords]) => ({
  what,
  of: (round: number) => ({
    own: () => db.rows({ sql: inOwn(round) }),
    records: () => db.rows({ sql: inRecords(round) }),
  }),
}));
const writes = [64, 5000].map((size) => ({
  what: `INSERT of ${size} rows, of 64 spaces where shared`,
  of: (round: number) => batch(round + size, size),
}));
for (const { what, of: worksOf } of [...reads, ...writes]) {
  progress(what);
  const taken = {
    own: [] as { wall: number; cpu: number }[],
    records: [] as { wall: number; cpu: number }[],
  };
  for (let round = 0; round < rounds; round++) {
    const works = worksOf(round);
    taken.own.push(await timed(works.own));
    taken.records.push(await timed(works.records));
  }
  const of = (list: readonly { wall: number; cpu: number }[]) => ({
    wall: median(list.map(({ wall }) => wall)),
    cpu: median(list.map(({ cpu }) => cpu)),
  });
  const [a, b] = [of(taken.own), of(taken.records)];
  lines.push(
    `| ${what} | ${a.wall.toFixed(1)} (${a.cpu.toFixed(1)}) | ${b.wall.toFixed(1)} (${b.cpu.toFixed(1)}) | ${(b.cpu / a.cpu).toFixed(2)} |`,
  );
}
process.stdout.write(`${lines.join('\n')}\n\n${machineLine(describeMachine())}\n`);
await db.close();
await rm(folder, { recursive: true, force: true });
