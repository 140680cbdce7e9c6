/**
 * Question: what CPU time does a request of the query service cost, and where? Findings are the arithmetic of docs/scale.md.
 * `node --import tsx bench/query/cpu-per-request.ts [--rows N] [--amount N] [--rounds N] [--connections N]`
 *
 * A query process over the engine in the process, and one over the same engine behind HTTP (a process of its own, as a
 * ClickHouse server would be; what its small Node server costs beside the engine is counted with it). Requests differ: each
 * of 200 in turn. CPU time only, from /proc, by thread: the machine may have other work. Medians of the rounds, taken in turns.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { startChild } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import type { LoadJob, LoadResult } from './load-requests.ts';
import { type ThreadUsage, threadUsage } from './thread-usage.ts';

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

const token = 'benchmark-token-0123456789';
const variants = 200;
const recordsAnAge = 10;
const structure = JSON.stringify({
  name: 'people',
  description: '',
  projectSlug: 'bench',
  slug: 'people',
  recordStructure: [
    ['name', 'TEXT'],
    ['email', 'TEXT'],
    ['city', 'TEXT'],
    ['age', 'NUMBER'],
    ['score', 'NUMBER'],
    ['active', 'BOOLEAN'],
  ].map(([name, type]) => ({
    ...{ name, slug: name, type, required: false, unique: false, hashed: false },
    ...{ description: '', comment: '' },
  })),
});
const headers = { authorization: `Bearer ${token}`, structure, 'content-type': 'application/json' };
const record = (index: number) => ({
  name: `Person ${index}`,
  email: `person-${index}@example.com`,
  city: ['London', 'Paris', 'Lagos', 'Lima'][index % 4],
  age: Math.floor(index / recordsAnAge),
  score: index / 7,
  active: index % 2 === 0,
});

type Subject = 'embedded' | 'served';
interface Running {
  readonly url: string;
  readonly pids: readonly number[];
  close(): Promise<void>;
}

async function start(subject: Subject): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const env = { UV_THREADPOOL_SIZE: '16' };
  const engine =
    subject === 'embedded'
      ? null
      : await startChild({
          command: process.execPath,
          args: [
            ...['--import', 'tsx', 'test/services/chdb-http-server.ts'],
            JSON.stringify({ keepAliveTimeout: 10_000, port: 0, path: join(folder, 'engine') }),
          ],
          env,
          ready: /^listening on (\S+)$/m,
        });
  const service = await startChild({
    command: process.execPath,
    args: ['--import', 'tsx', 'query/main.ts'],
    env: {
      ...env,
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      BOOTSTRAP_TOKEN: token,
      LOG_LEVEL: 'error',
      ...(engine !== null && { CLICKHOUSE_URL: engine.ready }),
    },
    ready: /^Sluice listens on (\S+)$/m,
  });
  return {
    url: service.ready,
    pids: engine === null ? [service.pid] : [service.pid, engine.pid],
    async close() {
      await service.stop();
      await engine?.stop();
      await rm(folder, { recursive: true, force: true });
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

async function load(job: LoadJob): Promise<LoadResult> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'load-requests.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([
    text(child.stdout),
    once(child, 'exit'),
    child.stdin.end(JSON.stringify(job)),
  ]);
  return JSON.parse(output) as LoadResult;
}

const spread = <T>(make: (index: number) => T): T[] =>
  Array.from({ length: variants }, (_, index) => make(index));
const kinds: Record<string, (ids: readonly string[]) => LoadJob['requests']> = {
  [`find by a field, ${recordsAnAge} records`]: () =>
    spread((index) => ({ method: 'GET', path: `/bench/people?age=${index}`, headers })),
  'findOne by id': (ids) =>
    spread((index) => ({
      method: 'GET',
      path: `/bench/people/_single_?id=${ids[index * 7] ?? ids[0]}`,
      headers,
    })),
  insertOne: () =>
    spread((index) => ({
      ...{ method: 'POST', path: '/bench/people/_single_', headers },
      body: JSON.stringify(record(rows + index)),
    })),
};

const progress = (line: string): void => void process.stderr.write(`${line}\n`);
const machine = describeMachine();
const running = { embedded: await start('embedded'), served: await start('served') };
const ids = { embedded: await fill(running.embedded.url), served: await fill(running.served.url) };
const samples = new Map<string, { service: ThreadUsage; engine: number }[]>();
for (let round = 0; round < rounds; round++) {
  for (const kind of Object.keys(kinds)) {
    for (const subject of ['embedded', 'served'] as const) {
      const { url, pids } = running[subject];
      const requests = kinds[kind]?.(ids[subject]) ?? [];
      const measure = () => pids.map(threadUsage);
      // the first requests compile what the later ones run
      if (round === 0) await load({ url, connections, amount: 200, requests });
      const before = measure();
      const { good, bad } = await load({ url, connections, amount, requests });
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
for (const { close } of Object.values(running)) await close();

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
