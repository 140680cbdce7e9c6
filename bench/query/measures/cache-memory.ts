import { mebibyte } from '../../upload/harness/bytes.ts';
import { watchMemory } from '../../upload/harness/memory-watch.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { cacheOff, load, type QueryMeasure } from './query-bench.ts';

const requests = 1_000_000;
const cacheBytes = 64 * mebibyte;
/** Long enough for all of them. */
const seconds = 3600;

/**
 * How far does a process grow while it answers 1,000,000 different requests, with and without a cache? The difference is
 * the memory of the cache, which RECORD_CACHE_BYTES bounds.
 */
export const cacheMemory: QueryMeasure = {
  id: 'MEMORY',
  long: true,
  async run({ store, rows }): Promise<Finding[]> {
    const made = await store(rows);
    const growth: number[] = [];
    const problems: string[] = [];
    for (const env of [{ RECORD_CACHE_BYTES: String(cacheBytes) }, cacheOff]) {
      const child = await made.start(env);
      try {
        await load(child, { kind: 'findOneAbsent', seconds, amount: 2000 });
        const before = residentBytes([child.pid]);
        const watch = watchMemory([child.pid]);
        const result = await load(child, { kind: 'findOneAbsent', seconds, amount: requests });
        growth.push((watch.end().peak - before) / mebibyte);
        progress(`MEMORY: ${JSON.stringify(env)}: ${Math.round(result.perSecond)}/s, +${growth.at(-1)} MiB`);
        if (result.bad > 0) problems.push(`${result.bad} answers that are not 200`);
      } finally {
        await child.stop();
      }
    }
    const [kept = 0, off = 0] = growth;
    const value = kept - off;
    return [
      {
        measure: 'MEMORY',
        what: '1,000,000 distinct findOne, RSS growth',
        goal: null,
        value,
        problems,
        subject: `RECORD_CACHE_BYTES of 64 MiB, cold: +${kept.toFixed(0)} MiB`,
        baseline: `cache off: +${off.toFixed(0)} MiB`,
        shown: `${value.toFixed(0)} MiB`,
        details: { growth, requests, cacheBytes },
      },
    ];
  },
};
