/**
 * Question: are updates better kept as patch parts (lightweight UPDATE) or as new versions of whole rows
 * (ReplacingMergeTree and FINAL)? 1,000,000 rows of 8 fields, with 0, 100 and 100,000 rows updated before the reads.
 * Run: `node --import tsx bench/query/update-decision.ts [rows]`. The answer is docs/decisions/003-updates.md.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import type { Database } from '../../common/clickhouse/database.ts';

const killTest = '--kill-test';
const fields = `email Nullable(String), name Nullable(String), city Nullable(String), age Nullable(Float64),
  score Nullable(Float64), active Nullable(Bool), tags Nullable(String), extra Nullable(String)`;
const columns = 'email, name, city, age, score, active, tags, extra';
const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';

/** One way to keep updates; `batch` is [row number, new value] of a field that is not unique. */
interface Way {
  readonly name: string;
  readonly create: string;
  readonly final: string;
  update(db: Database, batch: readonly (readonly [number, number])[], column?: string): Promise<void>;
  remove(db: Database, row: number): Promise<void>;
  readonly fold: string;
}

const id = (row: number): string => `'${String(row).padStart(36, '0')}'`;
const head = `_id String, _created_at DateTime64(3, 'UTC'), _updated_at DateTime64(3, 'UTC'), ${fields}`;
const index = 'INDEX unique_email email TYPE bloom_filter(0.01) GRANULARITY 1';

const patches: Way = {
  name: 'lightweight UPDATE',
  create: `CREATE TABLE t.patches (${head}, ${index}) ENGINE = MergeTree ORDER BY _id
    SETTINGS ${durable}, enable_block_number_column = 1, enable_block_offset_column = 1`,
  final: 't.patches',
  update(db, batch, column = 'score') {
    const ids = batch.map(([row]) => id(row)).join();
    const values = batch.map(([, value]) => (column === 'email' ? `'new${value}'` : `${value}.`)).join();
    return db.command({
      sql: `UPDATE t.patches SET ${column} = transform(_id, [${ids}], [${values}], ${column}),
      _updated_at = now64(3) WHERE _id IN (${ids})`,
    });
  },
  remove: (db, row) =>
    db.command({
      sql: `DELETE FROM t.patches WHERE _id = ${id(row)}
      SETTINGS lightweight_delete_mode = 'lightweight_update_force'`,
    }),
  fold: 'ALTER TABLE t.patches APPLY PATCHES',
};

const versions: Way = {
  name: 'ReplacingMergeTree FINAL',
  create: `CREATE TABLE t.versions (${head}, _version UInt64, ${index}) ENGINE = ReplacingMergeTree(_version)
    ORDER BY _id SETTINGS ${durable}`,
  final: 't.versions FINAL',
  async update(db, batch, column = 'score') {
    // as the service would: read the rows, then insert them with what has changed
    const ids = batch.map(([row]) => id(row)).join();
    const rows = await db.rows<Record<string, unknown>>({
      sql: `SELECT _id, _created_at, ${columns},
      toFloat64(_version) AS version FROM t.versions FINAL WHERE _id IN (${ids})`,
    });
    const values = new Map(batch.map(([row, value]) => [id(row).slice(1, -1), value]));
    const now = new Date().toISOString().replace('T', ' ').replace('Z', '');
    const lines = rows.map((row) => {
      const value = values.get(row._id as string) as number;
      const changed = { ...row, [column]: column === 'email' ? `new${value}` : value };
      const created = String(row._created_at).replace('T', ' ').replace('Z', '');
      const fieldValues = columns.split(', ').map((name) => (changed as Record<string, unknown>)[name]);
      return `${JSON.stringify([row._id, created, now, ...fieldValues, Number(row.version) + 1])}\n`;
    });
    const names = ['_id', '_created_at', '_updated_at', ...columns.split(', '), '_version'];
    await db.insert({ table: 't.versions', columns: names, lines: Buffer.from(lines.join('')) });
  },
  remove: (db, row) => db.command({ sql: `DELETE FROM t.versions WHERE _id = ${id(row)}` }),
  fold: 'OPTIMIZE TABLE t.versions FINAL',
};

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const table: [string, string, string][] = [];
const ms = (value: number): string => (value < 100 ? value.toFixed(1) : value.toFixed(0));

/** Median and 90th percentile in milliseconds. */
async function time(runs: number, work: (run: number) => Promise<unknown>): Promise<string> {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    await work(run);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return `${ms(times[runs >> 1] as number)} (${ms(times[Math.floor(runs * 0.9)] as number)})`;
}

async function both(label: string, measure: (way: Way) => Promise<string>): Promise<void> {
  const results: string[] = [];
  for (const way of [patches, versions]) {
    results.push(await measure(way).catch((error: Error) => `fails: ${error.message.slice(0, 60)}`));
    say(`${label}: ${way.name}: ${results.at(-1)}`);
  }
  table.push([label, ...(results as [string, string])]);
}

async function main(rows: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  try {
    const db = openChdb({ path: join(directory, 'chdb') });
    await db.command({ sql: 'CREATE DATABASE t ENGINE = Atomic' });
    for (const way of [patches, versions]) await fill(db, way, rows);
    const step = Math.max(1, Math.floor(rows / 100_000));
    let pending = 0;
    for (const wanted of [0, 100, Math.min(100_000, rows)]) {
      say(`${wanted} updates pending`);
      await both(`${wanted} pending: writing them, 1,000 at a time`, async (way) => {
        const start = performance.now();
        for (let from = pending; from < wanted; from += 1000) {
          const size = Math.min(1000, wanted - from);
          await way.update(
            db,
            Array.from({ length: size }, (_, i) => [(from + i) * step, from + i]),
          );
        }
        return `${ms(performance.now() - start)} in all`;
      });
      pending = wanted;
      await quiet(db);
      await both(`${wanted} pending: parts when merges are quiet`, (way) => parts(db, way));
      await reads(db, wanted, rows);
    }
    await both('unique field of 100 rows changed, 1 row each: update', (way) =>
      time(100, (run) => way.update(db, [[run * 7 + 1, run]], 'email')),
    );
    await quiet(db);
    await reads(db, 'unique field changed', rows);
    await both('update of one row', (way) => time(100, (run) => way.update(db, [[run * 11, run]])));
    for (const size of [10, 100, 1000]) {
      await both(`update of ${size} rows at once`, (way) =>
        time(20, (run) =>
          way.update(
            db,
            Array.from({ length: size }, (_, i) => [(run * 31 + i * 17) % rows, i]),
          ),
        ),
      );
    }
    await both('delete of one row', (way) => time(20, (run) => way.remove(db, run * 13 + 5)));
    await quiet(db);
    await both('all updates folded in (APPLY PATCHES; OPTIMIZE FINAL)', async (way) => {
      const start = performance.now();
      await db.command({ sql: way.fold });
      return `${ms(performance.now() - start)} in all`;
    });
    await reads(db, 'folded in', rows);
    const optimized = performance.now();
    await patches.update(db, [[1, 1]]);
    await db.command({ sql: 'OPTIMIZE TABLE t.patches FINAL' });
    table.push([
      'one update folded in by OPTIMIZE FINAL',
      `${ms(performance.now() - optimized)} in all`,
      'as above',
    ]);
    const fresh = await time(20, (run) =>
      db.command({
        sql: `DELETE FROM t.patches WHERE _id = ${id(run * 13 + 6)}
        SETTINGS lightweight_delete_mode = 'alter_update'`,
      }),
    );
    table.push(['delete of one row, lightweight_delete_mode = alter_update', fresh, 'as above']);
    for (const beside of ['ALTER TABLE t.small APPLY PATCHES', 'OPTIMIZE TABLE t.small FINAL']) {
      table.push([
        `500 updates beside ${beside.replace('TABLE t.small ', '')}: lost`,
        await lostBeside(db, beside),
        '',
      ]);
    }
    await both('all rows to the end in order of _id', (way) => time(3, () => drain(db, way)));
    await db.close();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  await both('kill -9 under updates: acknowledged, lost', killed);
  print(rows);
}

async function fill(db: Database, way: Way, rows: number): Promise<void> {
  await db.command({ sql: way.create });
  const name = way.final.split(' ')[0];
  const version = way === versions ? ', 1' : '';
  await db.command({
    sql: `INSERT INTO ${name} SELECT leftPad(toString(number), 36, '0'), now64(3), now64(3),
    concat('user', toString(number), '@example.org'), concat('name', toString(number % 1000)),
    concat('city', toString(number % 200)), number % 100, number, number % 2, concat('["t', toString(number % 50), '"]'),
    concat('{"a":', toString(number), '}')${version} FROM numbers(${rows})
    SETTINGS max_insert_block_size = 10000000, min_insert_block_size_rows = 10000000`,
  });
  await db.command({ sql: `OPTIMIZE TABLE ${name} FINAL` });
  say(`${way.name}: ${rows} rows`);
}

async function reads(db: Database, label: number | string, rows: number): Promise<void> {
  const pending = typeof label === 'number' ? `${label} pending` : label;
  const select = (way: Way, where: string): string =>
    `SELECT _id, _created_at, _updated_at, ${columns} FROM ${way.final} WHERE ${where}`;
  const byUnique = (run: number): string => `email = 'user${(run * 7919) % rows}@example.org'`;
  await both(`${pending}: read by _id`, (way) =>
    time(100, (run) => db.rows({ sql: select(way, `_id = ${id((run * 7919) % rows)}`) })),
  );
  await both(`${pending}: read by the unique field`, (way) =>
    time(50, (run) => db.rows({ sql: select(way, byUnique(run)) })),
  );
  await both(`${pending}: granules read by the unique field`, async (way) => {
    const plan = await db.rows<{ explain: string }>({
      sql: `EXPLAIN indexes = 1 ${select(way, byUnique(3))}`,
    });
    const lines = plan.map(({ explain }) => explain.trim());
    const skip = lines.slice(lines.indexOf('Skip')).find((line) => line.startsWith('Granules'));
    return skip?.replace('Granules: ', '') ?? 'no index';
  });
  await both(`${pending}: find with two equalities, 10 records`, (way) =>
    time(20, (run) =>
      db.rows({ sql: `${select(way, `name = 'name${run * 40}' AND age = ${(run * 40) % 100}`)} LIMIT 10` }),
    ),
  );
}

async function drain(db: Database, way: Way): Promise<void> {
  const stream = await db.stream({
    sql: `SELECT concat(_id, ifNull(email, ''), ifNull(name, '')) FROM ${way.final} ORDER BY _id`,
    format: 'TSVRaw',
  });
  for await (const chunk of stream) void chunk;
}

async function parts(db: Database, way: Way): Promise<string> {
  const [row] = await db.rows<{ text: string }>({
    sql: `SELECT concat(toString(count()), ' parts, ', toString(sum(rows)), ' rows') AS text FROM system.parts
     WHERE active AND concat(database, '.', table) = '${way.final.split(' ')[0]}'`,
  });
  return row?.text ?? '';
}

/** How many acknowledged updates are gone when a statement that folds them in ran beside them. */
async function lostBeside(db: Database, statement: string): Promise<string> {
  await db.command({ sql: patches.create.replace('t.patches', 't.small') });
  await db.command({
    sql: `INSERT INTO t.small (_id, score) SELECT leftPad(toString(number), 36, '0'), -1 FROM numbers(500)`,
  });
  let running = true;
  const folding = (async () => {
    while (running) await db.command({ sql: statement });
  })();
  for (let row = 0; row < 500; row++) {
    await db.command({ sql: `UPDATE t.small SET score = ${row} WHERE _id = ${id(row)}` });
  }
  running = false;
  await folding;
  const [row] = await db.rows<{ lost: number }>({
    sql: 'SELECT toFloat64(countIf(score != toFloat64(_id))) AS lost FROM t.small',
  });
  await db.command({ sql: 'DROP TABLE t.small SYNC' });
  say(`${statement}: ${row?.lost} lost`);
  return String(row?.lost);
}

/** Waits until no merge has run for a second. */
async function quiet(db: Database): Promise<void> {
  for (let calm = 0; calm < 10; calm++) {
    const [row] = await db.rows<{ n: number }>({ sql: 'SELECT toFloat64(count()) AS n FROM system.merges' });
    if ((row?.n ?? 0) > 0) calm = 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Updates in a process of its own, which is killed; then every acknowledged value must be there. */
async function killed(way: Way): Promise<string> {
  let acknowledged = 0;
  let lost = 0;
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const path = join(directory, 'chdb');
  const values = new Map<number, number>();
  for (let round = 0; round < 5; round++) {
    const args = ['--import', 'tsx', import.meta.filename, killTest, way.name, path, String(round)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    let count = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      const [row, value] = line.split(' ').map(Number) as [number, number];
      values.set(row, value);
      acknowledged++;
      if (++count === 60) child.kill('SIGKILL');
    }
    await gone;
    const db = openChdb({ path });
    for (const [row, value] of values) {
      const [found] = await db.rows<{ score: number }>({
        sql: `SELECT score FROM ${way.final} WHERE _id = ${id(row)}`,
      });
      // the one that was under way may be there too
      if ((found?.score ?? -1) < value) lost++;
    }
    await db.close();
  }
  await rm(directory, { recursive: true, force: true });
  return `${acknowledged}, ${lost}`;
}

async function updateForever(name: string, path: string, round: number): Promise<void> {
  const way = name === patches.name ? patches : versions;
  const db = openChdb({ path });
  if (round === 0) {
    await db.command({ sql: 'CREATE DATABASE t ENGINE = Atomic' });
    await fill(db, way, 1000);
  }
  for (let value = round * 1_000_000; ; value++) {
    const row = value % 50;
    await way.update(db, [[row, value]]);
    process.stdout.write(`${row} ${value}\n`);
  }
}

function print(rows: number): void {
  const lines = [
    `${rows} rows of 8 fields; ${cpus().length} cores, Node ${process.versions.node}; ms: median (90th percentile)`,
    '',
    `| | ${patches.name} | ${versions.name} |`,
    '|---|---|---|',
    ...table.map((row) => `| ${row.join(' | ')} |`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === killTest) await updateForever(rest[0] as string, rest[1] as string, Number(rest[2]));
else await main(Number(mode ?? 1_000_000));
