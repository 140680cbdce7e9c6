import { setTimeout as sleep } from 'node:timers/promises';
import { offsetAt } from '../../../test/services/tus-client.ts';
import { mebibyte } from '../harness/bytes.ts';
import { watchMemory } from '../harness/memory-watch.ts';
import { residentBytes } from '../harness/process-usage.ts';
import { settle } from '../harness/settle.ts';
import { endsWell, stall } from '../load/stalled-upload.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Finding, Measure } from './measure.ts';
import { returnElsewhere } from './u12-two-gateways.ts';
import { withSubjects } from './with-subjects.ts';

const budget = 256 * mebibyte;
/** Clients that reconnect. */
const returning = 50;

/**
 * 500 tus uploads stall at random offsets, their connections open: by how much does memory grow beyond the budget of
 * uploads? Then some clients reconnect at once: how long do they wait for their offset, and do their files arrive complete?
 * Also with clients that reconnect to another gateway.
 */
export const u12: Measure = {
  id: 'U12',
  run: async (bench) => [
    ...(await withSubjects<Finding[]>([() => startSluice({ ...bench, store: 'fs' })], async ([subject]) => {
      const sluice = subject as Subject;
      const uploads = bench.quick ? 100 : 500;
      await settle();
      const idle = residentBytes(sluice.pids);
      const memory = watchMemory(sluice.pids);
      const stalled = await Promise.all(
        Array.from({ length: uploads }, (_, index) => stall(sluice.target, index)),
      );
      // as long as the server gives a stalled one
      await sleep(bench.quick ? 1000 : 8000);
      const beyond = (memory.end().peak - idle - budget) / mebibyte;
      const waits: number[] = [];
      const problems: string[] = [];
      for (const [index, { path }] of stalled.slice(0, returning).entries()) {
        const begun = performance.now();
        const offset = await offsetAt(sluice.target, path);
        waits.push(performance.now() - begun);
        if (!(await endsWell(sluice.target, path, index, offset)))
          problems.push(`upload ${index} is not whole`);
      }
      for (const { socket } of stalled) socket.destroy();
      const worst = Math.max(...waits) / 1000;
      const common = { measure: 'U12', baseline: '', problems };
      return [
        {
          ...common,
          what: `${uploads} stalled tus uploads, growth over the budget`,
          subject: `idle: ${Math.round(idle / mebibyte)} MiB`,
          goal: { bound: 'at most', first: 128, aim: 32, unit: ' MiB' },
          value: beyond,
          shown: `${beyond.toFixed(0)} MiB`,
        },
        {
          ...common,
          what: 'a client that comes back at once waits',
          subject: `the longest of ${waits.length}`,
          goal: { bound: 'below', first: 2, aim: 0.2, unit: ' s' },
          value: worst,
          shown: `${worst.toFixed(2)} s`,
          details: { milliseconds: waits },
        },
      ];
    })),
    await returnElsewhere(bench),
  ],
};
