/**
 * Question: what does a request of the scaled mode cost a ClickHouse server, and Sluice itself? One server, one Redis, one
 * query process, and load, on one machine; a space of 7 fields, one of them unique. No request asks what another asked,
 * but for "again and again" and the 2,000 values beside updates. CPU time is from /proc, all threads; medians of rounds.
 */
import { parseArgs } from 'node:util';
import { createClient } from '@clickhouse/client';
import { startRedis } from '../../test/services/redis.ts';
import { authorization, startService } from '../query/direct-store.ts';
import type { RequestKind } from '../query/requests.ts';
import { runLoad } from '../query/run-load.ts';
import { type ServedEngine, startServedEngine } from '../query/subject/served-engine.ts';
import { fillSpace } from '../query/subject/sluice-store.ts';
import type { Child } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { cpuSeconds } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';

const usage = `npm run bench -- served [--rows 100000,1000000] [--only find,insertOne] [--rounds N] [--seconds N] [--processes N]

  --rows       records of the space; 10000000 takes a quarter of an hour to fill (100000,1000000)
  --only       parts of the lines' names
  --rounds     of which the median is taken (3)
  --seconds    of each round (5)
  --processes  that insert at once, in the last line (4)
`;

interface Line {
  readonly name: string;
  readonly kind: RequestKind;
  readonly connections?: number;
}

/** The last ones write. */
const lines: readonly Line[] = [
  { name: 'find by two fields, each once', kind: 'findByTwo' },
  { name: 'find by two fields, one caller', kind: 'findByTwo', connections: 1 },
  { name: 'findOne by a unique value, each once', kind: 'findOneUnseen' },
  { name: 'find again and again', kind: 'find' },
  { name: 'sorted page of 20, 4,500 pages', kind: 'page' },
  { name: 'nine finds to one update', kind: 'findByTwoMixed' },
  { name: 'insertOne', kind: 'insertOne' },
  { name: 'insertOne, one caller', kind: 'insertOne', connections: 1 },
  { name: 'updateOneById', kind: 'updateOneById' },
];
/** The same client that an application would use, on a connection a caller. */
const baseline = 'baseline: a find by two fields with @clickhouse/client, a statement each';
const afterUpdates = 'find by two fields, a tenth updated and not merged';

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly engine: number;
  readonly own: number;
  /** New parts a second, of the table that gets most of them. */
  readonly parts: number;
  readonly bad: number;
}

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    rows: { type: 'string', default: '100000,1000000' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    processes: { type: 'string', default: '4' },
  },
});
const [rounds, seconds, processes] = [values.rounds, values.seconds, values.processes].map(Number) as [
  number,
  number,
  number,
];
const isWanted = (name: string): boolean => values.only.split(',').some((part) => name.includes(part));
/** Each load begins where none before it got to. */
let numbers = 100_000_000;

async function ask(engine: ServedEngine, sql: string): Promise<string> {
  const answer = await fetch(engine.url, { method: 'POST', body: sql });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text.trim();
}

async function measure(
  engine: ServedEngine,
  children: readonly Child[],
  { kind, connections = 64 }: Omit<Line, 'name'>,
  ids: readonly string[],
): Promise<Round> {
  const pids = children.map(({ pid }) => pid);
  const since = await ask(engine, 'SELECT toString(now64(6))');
  const before = { engine: cpuSeconds([engine.pid]), own: cpuSeconds(pids) };
  const results = await Promise.all(
    children.map(({ ready: url }) => {
      numbers += 1_000_000;
      return runLoad({ url, authorization, from: numbers, kind, connections, seconds, ids });
    }),
  );
  const used = { engine: cpuSeconds([engine.pid]) - before.engine, own: cpuSeconds(pids) - before.own };
  await ask(engine, 'SYSTEM FLUSH LOGS');
  const parts = await ask(
    engine,
    `SELECT max(n) FROM (SELECT count() AS n FROM system.part_log
      WHERE event_type = 'NewPart' AND database != 'system' AND event_time_microseconds > '${since}' GROUP BY table)`,
  ).catch(() => '0');
  const sum = (of: (result: (typeof results)[number]) => number): number =>
    results.reduce((total, result) => total + of(result), 0);
  const each =
    1e6 /
    Math.max(
      1,
      sum(({ good }) => good),
    );
  return {
    perSecond: sum(({ perSecond }) => perSecond),
    p50: median(results.map(({ p50 }) => p50)),
    engine: used.engine * each,
    own: used.own * each,
    parts: Number(parts) / seconds,
    bad: sum(({ bad }) => bad),
  };
}

/** What a find costs without Sluice: a statement each, which scans the space. */
async function measureClient(engine: ServedEngine): Promise<Round> {
  const client = createClient({ url: engine.url, max_open_connections: 64 });
  const before = { engine: cpuSeconds([engine.pid]), own: cpuSeconds([process.pid]) };
  const waits: number[] = [];
  const end = performance.now() + seconds * 1000;
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const began = performance.now();
      const [name, age] = [`Person ${numbers++ % 100_000}`, numbers % 100];
      const query = `SELECT _id, _doc FROM sluice.records WHERE t0 = '${name}' OR (n0 = ${age} AND t1 = '${name}') LIMIT 10`;
      await (await client.query({ query, format: 'JSONEachRow' })).json();
      waits.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: 64 }, call));
  await client.close();
  const each = 1e6 / waits.length;
  return {
    ...{ perSecond: waits.length / seconds, p50: median(waits), parts: 0, bad: 0 },
    engine: (cpuSeconds([engine.pid]) - before.engine) * each,
    own: (cpuSeconds([process.pid]) - before.own) * each,
  };
}

function show(name: string, all: readonly Round[]): void {
  const middle = (of: (round: Round) => number): number => median(all.map(of));
  const bad = all.reduce((sum, round) => sum + round.bad, 0);
  const cells = [
    name,
    Math.round(middle(({ perSecond }) => perSecond)).toLocaleString('en'),
    middle(({ p50 }) => p50).toFixed(1),
    Math.round(middle(({ engine }) => engine)).toLocaleString('en'),
    Math.round(middle(({ own }) => own)).toLocaleString('en'),
    middle(({ parts }) => parts).toFixed(0),
  ];
  process.stdout.write(`| ${cells.join(' | ')} |${bad === 0 ? '' : ` ${bad} answers that are not 200`}\n`);
}

/** Round 0 warms up. */
async function run(name: string, round: () => Promise<Round>): Promise<void> {
  const all: Round[] = [];
  for (let index = 0; index <= rounds; index++) {
    const result = await round();
    progress(`${name}: ${Math.round(result.perSecond)}/s`);
    if (index > 0) all.push(result);
  }
  show(name, all);
}

async function runAll(rows: number): Promise<void> {
  const folder = makeTemporaryDirectory();
  const [engine, redis] = [await startServedEngine(), await startRedis()];
  const env = { CLICKHOUSE_URL: engine.url, REDIS_URL: redis.url };
  const start = (): Promise<Child> => startService(folder, env, { script: 'query/main.ts' });
  const children = [await start()];
  try {
    const ids = await fillSpace((children[0] as Child).ready, rows);
    process.stdout.write(`\n${rows.toLocaleString('en')} records\n\n`);
    process.stdout.write(
      '| 64 connections unless said | a second | p50, ms | engine, us | Sluice, us | new parts a second |\n',
    );
    process.stdout.write('|---|---|---|---|---|---|\n');
    if (isWanted(baseline)) await run(baseline, () => measureClient(engine));
    for (const { name, ...line } of lines)
      if (isWanted(name)) await run(name, () => measure(engine, children, line, ids));
    if (isWanted(afterUpdates)) {
      await ask(engine, 'SYSTEM STOP MERGES');
      for (let updated = 0; updated < rows / 10; ) {
        const { perSecond } = await measure(engine, children, { kind: 'updateOneById' }, ids);
        updated += perSecond * seconds;
        progress(`${Math.round(updated)} updates`);
      }
      await run(afterUpdates, () => measure(engine, children, { kind: 'findByTwo' }, ids));
      await ask(engine, 'SYSTEM START MERGES');
    }
    const together = `insertOne through ${processes} processes`;
    if (!isWanted(together)) return;
    while (children.length < processes) children.push(await start());
    await run(together, () => measure(engine, children, { kind: 'insertOne' }, ids));
  } finally {
    for (const child of children) await child.stop();
    await redis.stop();
    await engine.stop();
    removeTemporaryDirectory(folder);
  }
}

if (values.help) process.stdout.write(usage);
else {
  process.stdout.write(`${machineLine(describeMachine())}\n`);
  for (const rows of values.rows.split(',').map(Number)) await runAll(rows);
}
