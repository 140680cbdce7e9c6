import { Counter, type Registry } from 'prom-client';
import { CacheCounts } from './cache-counts.ts';

export type CacheName = 'tokens' | 'structures' | 'spaces' | 'records' | 'files' | 'file_bytes';

/** Counts the hits and misses of each cache. Counting costs a cache no more than an addition. */
export function measureCaches(registry: Registry): (name: CacheName) => CacheCounts {
  const caches = new Map<CacheName, CacheCounts>();
  new Counter({
    name: 'sluice_cache_requests_total',
    help: 'Questions to the caches of the process, by whether they had the answer',
    labelNames: ['cache', 'result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [cache, { hits, misses }] of caches) {
        this.inc({ cache, result: 'hit' }, hits);
        this.inc({ cache, result: 'miss' }, misses);
      }
    },
  });
  return (name) => {
    const counts = caches.get(name) ?? new CacheCounts();
    caches.set(name, counts);
    return counts;
  };
}
