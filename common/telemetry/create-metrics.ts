import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { CacheCounts } from './cache-counts.ts';
import type { HttpObserver } from './http-observer.ts';
import { type BatchName, measureBatches } from './measure-batches.ts';
import { type CacheName, measureCaches } from './measure-caches.ts';
import { measureCalls } from './measure-calls.ts';
import { measureRequests } from './measure-requests.ts';
import type { ObserveCall } from './observe-call.ts';

/** Measures of a process. No label ever holds a client's data. */
export interface Metrics {
  readonly observer: HttpObserver;
  readonly observeCall: ObserveCall;
  /** The counters of a cache. */
  cache(name: CacheName): CacheCounts;
  /** To be called with the number of requests that a statement was made for. */
  batch(name: BatchName): (requests: number) => void;
  /** Adds a number that is read when somebody asks. */
  gauge(name: string, help: string, read: () => number): void;
  /** The same for one that never falls. */
  counter(name: string, help: string, read: () => number): void;
  /** All of it, as JSON of prom-client, each series with its worker. */
  json(): Promise<object[]>;
}

/** @param args.worker 1 for a process that is alone */
export function createMetrics({ worker }: { worker: number }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    observer: measureRequests(registry),
    observeCall: measureCalls(registry),
    cache: measureCaches(registry),
    batch: measureBatches(registry),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    counter(name, help, read) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    async json() {
      const metrics = (await registry.getMetricsAsJSON()) as { values: { labels: object }[] }[];
      return metrics.map((metric) => ({
        ...metric,
        // series of several workers stand beside each other
        aggregator: 'sum',
        values: metric.values.map((value) => ({
          ...value,
          labels: { ...value.labels, worker: `${worker}` },
        })),
      }));
    },
  };
}
