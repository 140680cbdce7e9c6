/**
 * Question: what CPU time does a request of the query service cost, and where? Findings: bench/cost-of-a-request.md.
 * `node --import tsx bench/query/cpu-per-request.ts [--rows N] [--amount N] [--rounds N] [--connections N]`
 *
 * Compares a query process with the embedded engine, with its caches ("embedded", where reads are hits) and without
 * ("embedded, cold"), and with the same engine behind HTTP, in a separate process like a ClickHouse server (including the
 * cost of its small Node server), which without Redis has no cache. 200 different reads take turns; every insert has a new
 * unique value. Only CPU time counts, from /proc, by thread, because the machine may have other work. Medians of
 * alternating rounds.
 */
import { parseArgs } from 'node:util';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { type ThreadUsage, threadUsage } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { authorization, startService, structureOf } from './direct-store.ts';
import type { BenchRequest } from './requests.ts';
import { runLoad } from './run-load.ts';
import { startServedEngine } from './subject/served-engine.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    amount: { type: 'string', default: '1500' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
  },
});
const [rows, amount, rounds, connections] = [
  values.rows,
  values.amount,
  values.rounds,
  values.connections,
].map(Number) as [number, number, number, number];

const variants = 200;
const recordsAnAge = 10;
const structure = structureOf('people', [
  { name: 'name', type: 'TEXT' },
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'city', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
  { name: 'score', type: 'NUMBER' },
  { name: 'active', type: 'BOOLEAN' },
]);
const headers = { authorization, structure, 'content-type': 'application/json' };
const record = (index: number) => ({
  name: `Person ${index}`,
  email: `person-${index}@example.com`,
  city: ['London', 'Paris', 'Lagos', 'Lima'][index % 4],
  age: Math.floor(index / recordsAnAge),
  score: index / 7,
  active: index % 2 === 0,
});

const subjects = ['embedded', 'embedded, cold', 'served'] as const;
type Subject = (typeof subjects)[number];
interface RunningServer {
  readonly url: string;
  readonly pids: readonly number[];
  close(): Promise<void>;
}

async function start(subject: Subject): Promise<RunningServer> {
  const folder = makeTemporaryDirectory();
  const engine = subject === 'served' ? await startServedEngine() : null;
  const env = {
    ...(engine !== null && { CLICKHOUSE_URL: engine.url }),
    ...(subject === 'embedded, cold' && { RECORD_CACHE_BYTES: '0' }),
  };
  const service = await startService(folder, env, { script: 'query/main.ts' });
  return {
    url: service.ready,
    pids: engine === null ? [service.pid] : [service.pid, engine.pid],
    async close() {
      await service.stop();
      await engine?.stop();
      removeTemporaryDirectory(folder);
    },
  };
}

async function fill(url: string): Promise<string[]> {
  const ids: string[] = [];
  const batch = 2000;
  for (let first = 0; first < rows; first += batch) {
    const body = Array.from({ length: Math.min(batch, rows - first) }, (_, index) => record(first + index));
    const answer = await fetch(`${url}/bench/people`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (answer.status !== 200)
      throw new Error(`the insert was answered ${answer.status}: ${await answer.text()}`);
    ids.push(...((await answer.json()) as { id: string }[]).map(({ id }) => id));
  }
  return ids;
}

const spread = <T>(make: (index: number) => T): T[] =>
  Array.from({ length: variants }, (_, index) => make(index));
let inserted = 0;
let updated = 0;
const kinds: Record<string, (ids: readonly string[]) => readonly BenchRequest[]> = {
  [`find by a field, ${recordsAnAge} records`]: () =>
    spread((index) => ({ method: 'GET', path: `/bench/people?age=${index}`, headers })),
  'findOne by id': (ids) =>
    spread((index) => ({
      method: 'GET',
      path: `/bench/people/_single_?id=${ids[index * 7] ?? ids[0]}`,
      headers,
    })),
  'findOne by a unique field': () =>
    spread((index) => ({
      method: 'GET',
      path: `/bench/people/_single_?email=person-${index * 11}@example.com`,
      headers,
    })),
  'insertOne with a unique field': () =>
    Array.from({ length: amount }, () => ({
      method: 'POST',
      path: '/bench/people/_single_',
      headers,
      body: JSON.stringify(record(rows + inserted++)),
    })),
  updateOneById: (ids) =>
    spread((index) => ({
      method: 'POST',
      path: `/bench/people/update-by-id?id=${ids[index * 13] ?? ids[0]}`,
      headers,
      body: JSON.stringify({ score: updated++ }),
    })),
};

const machine = describeMachine();
const running = new Map<Subject, RunningServer & { readonly ids: readonly string[] }>();
for (const subject of subjects) {
  const started = await start(subject);
  running.set(subject, { ...started, ids: await fill(started.url) });
}
const samples = new Map<string, { service: ThreadUsage; engine: number }[]>();
for (let round = 0; round < rounds; round++) {
  for (const kind of Object.keys(kinds)) {
    for (const [subject, { url, pids, ids }] of running) {
      const make = (): readonly BenchRequest[] => kinds[kind]?.(ids) ?? [];
      const measure = () => pids.map(threadUsage);
      // the first requests warm up the compiler and the caches
      await runLoad({ url, connections, amount: variants, requests: make() });
      const before = measure();
      const { good, bad } = await runLoad({ url, connections, amount, requests: make() });
      const after = measure();
      if (bad > 0 || good < amount)
        throw new Error(`${kind}, ${subject}: ${good} good and ${bad} bad answers`);
      const used = after.map((usage, index) => ({
        main: ((usage.main - (before[index]?.main ?? 0)) * 1000) / good,
        others: ((usage.others - (before[index]?.others ?? 0)) * 1000) / good,
      }));
      const [service = { main: 0, others: 0 }, engine = { main: 0, others: 0 }] = used;
      const name = `${kind} | ${subject}`;
      samples.set(name, [...(samples.get(name) ?? []), { service, engine: engine.main + engine.others }]);
      progress(`${name}: ${JSON.stringify(used)}`);
    }
  }
}
for (const { close } of running.values()) await close();

const shown = (pick: (sample: { service: ThreadUsage; engine: number }) => number, name: string): string =>
  median((samples.get(name) ?? []).map(pick)).toFixed(2);
process.stdout.write(
  `${machineLine(machine)}; ${rows} rows, ${amount} requests a round, ${rounds} rounds, ${connections} connections\n\n`,
);
process.stdout.write(
  'CPU-milliseconds a request | | JavaScript | other threads | engine behind HTTP |\n|---|---|---|---|---|\n',
);
for (const name of samples.keys()) {
  const columns = [shown(({ service }) => service.main, name), shown(({ service }) => service.others, name)];
  process.stdout.write(`| ${name} | ${columns.join(' | ')} | ${shown(({ engine }) => engine, name)} |\n`);
}
