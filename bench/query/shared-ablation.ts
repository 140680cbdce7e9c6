/**
 * Which parts of the shared store pay? Baseline: two query processes without any of them. One ClickHouse (the engine behind
 * HTTP), one Redis, 50,000 records, 64 connections to each process (docs/decisions/046-ablation-of-the-shared-store.md).
 *
 *   node --import tsx bench/query/shared-ablation.ts [seconds of a load]
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis } from '../../test/services/redis.ts';
import { cpuSeconds } from '../upload/harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { authorization, startService } from './direct-store.ts';
import { load } from './measures/query-bench.ts';
import type { RequestKind } from './requests.ts';
import { startServedEngine } from './subject/served-engine.ts';
import { fillSpace } from './subject/sluice-store.ts';

const [seconds = 5, records = 50_000] = process.argv.slice(2).map(Number);
const noResults = { RECORD_CACHE_BYTES: '0' };
const variants: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  all: {},
  'no kept results': noResults,
  'no shared finds': { WITHOUT: 'finds' },
  'no shared look-ups': { WITHOUT: 'lookups' },
  'neither results nor shared finds': { ...noResults, WITHOUT: 'finds' },
  none: { ...noResults, WITHOUT: 'finds,lookups' },
};
const kinds: readonly RequestKind[] = ['find', 'findByTwoMixed', 'findByTwo', 'mixed'];
const folder = makeTemporaryDirectory();
const engine = await startServedEngine();
const redis = await startRedis();
const start = (name: string, more: Readonly<Record<string, string>>) =>
  startService(
    join(folder, name),
    { CLICKHOUSE_URL: engine.url, REDIS_URL: redis.url, ...more },
    { script: 'bench/query/subject/ablated.ts' },
  );
/** Answers that were kept, and questions for them, of a process so far. */
async function keptOf(url: string): Promise<readonly [hits: number, reads: number]> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
  const of = (result: string): number =>
    Number(new RegExp(`cache="records",result="${result}".* (\\S+)`).exec(metrics)?.[1] ?? 0);
  return [of('hit'), of('hit') + of('miss')];
}

let ids: readonly string[] | null = null;
const lines = [
  '| load | parts | a second | ms of engine | ms of processes | hits / reads |',
  '|---|---|---|---|---|---|',
];
for (const [name, env] of Object.entries(variants)) {
  const children = await Promise.all(['one', 'two'].map((process) => start(process, env)));
  const [{ ready }] = children as [(typeof children)[0]];
  ids ??= await fillSpace(ready, records);
  const made = ids;
  // a server of Redis that began just now gives no versions
  await sleep(7000);
  for (const kind of kinds) {
    const before = await Promise.all(children.map((child) => keptOf(child.ready)));
    const began = cpuSeconds([engine.pid]);
    const runs = await Promise.all(children.map((child) => load(child, { kind, seconds, ids: made })));
    const good = runs.reduce((sum, run) => sum + run.good, 0);
    const cpu = ((cpuSeconds([engine.pid]) - began) * 1000) / Math.max(1, good);
    const own = runs.reduce((sum, run) => sum + run.cpuMicroseconds * run.good, 0) / 1000 / Math.max(1, good);
    const after = await Promise.all(children.map((child) => keptOf(child.ready)));
    const [hits, reads] = [0, 1].map((at) =>
      after.reduce((sum, kept, place) => sum + (kept[at] as number) - (before[place]?.[at] as number), 0),
    );
    const rate = Math.round(runs.reduce((sum, { perSecond }) => sum + perSecond, 0));
    lines.push(
      `| ${kind} | ${name} | ${rate} | ${cpu.toFixed(2)} | ${own.toFixed(2)} | ${hits} / ${reads} |`,
    );
  }
  for (const child of children) await child.stop();
}
process.stdout.write(`${lines.join('\n')}\n`);
await engine.stop();
await redis.stop();
removeTemporaryDirectory(folder);
process.exit();
