/**
 * What is a part of the query service worth? Baseline: the service without it. One process each, 64 connections,
 * alternating rounds. Figures: docs/decisions/038-ablation.md.
 *
 *   node --import tsx bench/query/ablation.ts STORE PARTS KINDS [--rows N] [--seconds N] [--rounds N] [--cache BYTES]
 *
 * STORE: `embedded`, or `served` (a ClickHouse server and Redis). PARTS: what to remove, see subject/ablated.ts. KINDS: of
 * requests.ts, in the order of the runs. --cache: RECORD_CACHE_BYTES, for a space beyond memory.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startRedis } from '../../test/services/redis.ts';
import type { Child } from '../upload/harness/child-process.ts';
import { median } from '../upload/harness/median.ts';
import { cpuSeconds } from '../upload/harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { startService } from './direct-store.ts';
import { load } from './measures/query-bench.ts';
import type { RequestKind } from './requests.ts';
import { startServedEngine } from './subject/served-engine.ts';
import { fillSpace } from './subject/sluice-store.ts';

interface Run {
  readonly rate: number;
  /** CPU time of a request in the process and in the engine of a served store. Microseconds. */
  readonly own: number;
  readonly engine: number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    cache: { type: 'string' },
  },
});
const [store, parts = '', kinds = ''] = positionals;
const [rows, seconds, rounds] = [Number(values.rows), Number(values.seconds), Number(values.rounds)];
const folder = makeTemporaryDirectory();
const served = store === 'served' ? { engine: await startServedEngine(), redis: await startRedis() } : null;
const env = {
  ...(served !== null && { CLICKHOUSE_URL: served.engine.url, REDIS_URL: served.redis.url }),
  ...(values.cache !== undefined && { RECORD_CACHE_BYTES: values.cache }),
};
const start = (name: string, without: string): Promise<Child> =>
  startService(
    join(folder, name),
    { ...env, WITHOUT: without },
    { script: 'bench/query/subject/ablated.ts' },
  );

const sides: { readonly child: Child; readonly ids: readonly string[] }[] = [];
for (const without of ['', parts]) {
  const child = await start(`without ${without}`, without);
  // both sides of a served store have the same records
  const ids = served !== null && sides[0] !== undefined ? sides[0].ids : await fillSpace(child.ready, rows);
  sides.push({ child, ids });
}
// a Redis server that just started gives no versions yet
if (served !== null) await sleep(7000);
const lines = [
  `| ${[store, rows, values.cache ?? ''].join(' ')} | with | without ${parts} | ratio | CPU us with | without | ratio |`,
  '|---|---|---|---|---|---|---|',
];
for (const kind of kinds.split(',') as RequestKind[]) {
  const runs: Run[][] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const [side, { child, ids }] of sides.entries()) {
      const before = served === null ? 0 : cpuSeconds([served.engine.pid]);
      const run = await load(child, { kind, seconds: round === 0 ? 2 : seconds, ids });
      const after = served === null ? 0 : cpuSeconds([served.engine.pid]);
      if (run.bad > 0) process.stderr.write(`${kind}: ${run.bad} bad answers\n`);
      const engine = ((after - before) * 1e6) / Math.max(1, run.good);
      process.stderr.write(
        `${kind} ${side} ${Math.round(run.perSecond)}/s ${run.cpuMicroseconds.toFixed(0)} + ${engine.toFixed(0)} us\n`,
      );
      if (round > 0) runs[side]?.push({ rate: run.perSecond, own: run.cpuMicroseconds, engine });
    }
  }
  const of = (what: keyof Run) =>
    runs.map((side) => median(side.map((run) => run[what]))) as [number, number];
  const [rate, own, engine] = [of('rate'), of('own'), of('engine')];
  const total = [own[0] + engine[0], own[1] + engine[1]] as const;
  const shown = (side: 0 | 1) =>
    served === null ? own[side].toFixed(0) : `${own[side].toFixed(0)} + ${engine[side].toFixed(0)}`;
  lines.push(
    `| ${kind} | ${Math.round(rate[0])} | ${Math.round(rate[1])} | ${(rate[0] / rate[1]).toFixed(2)} ` +
      `| ${shown(0)} | ${shown(1)} | ${(total[1] / total[0]).toFixed(2)} |`,
  );
}
process.stdout.write(`${lines.join('\n')}\n`);
for (const { child } of sides) await child.stop();
await served?.engine.stop();
await served?.redis.stop();
removeTemporaryDirectory(folder);
process.exit();
