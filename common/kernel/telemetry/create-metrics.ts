import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { CacheCounts } from './cache-counts.ts';
import { durationBuckets } from './duration-histogram.ts';
import type { HttpObserver } from './http-observer.ts';
import { measureRequests } from './measure-requests.ts';
import { type ObserveCall, type Outcome, outcomeOf, unobserved } from './observe-call.ts';

type CacheName = 'tokens' | 'structures' | 'spaces' | 'records' | 'files' | 'file_bytes';

/** Kinds of statements that are shared by several requests. */
type BatchName =
  | 'record_lookups'
  | 'record_finds'
  | 'record_value_finds'
  | 'record_inserts'
  | 'record_changes'
  | 'file_inserts'
  | 'file_lookups';

/** Metrics of a process. No label ever holds a client's data. */
export interface Metrics {
  readonly observer: HttpObserver;
  readonly observeCall: ObserveCall;
  cache(name: CacheName): CacheCounts;
  /** Records the number of requests that share a statement. */
  batch(name: BatchName): (requests: number) => void;
  /** Records where the records of a read came from. */
  reads(): (source: ReadSource) => void;
  /** Adds a histogram. Returns a function that records a duration in seconds. */
  durations(name: string, help: string): (seconds: number) => void;
  /** Adds a gauge whose value is read whenever metrics are collected. */
  gauge(name: string, help: string, read: () => number): void;
  /** Adds a gauge with a series for each value of a label. */
  gauges(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void;
  /** Adds a counter whose value is read whenever metrics are collected. */
  counter(name: string, help: string, read: () => number): void;
  /** The same with a series for each value of a label. */
  counters(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void;
  /** All metrics as prom-client's JSON, each series with its worker. */
  json(): Promise<object[]>;
}

/** For a process whose metrics nobody reads. */
export const unmeasured: Omit<Metrics, 'observer' | 'gauges' | 'counters' | 'json'> = {
  observeCall: unobserved,
  cache: () => new CacheCounts(),
  batch: () => () => {},
  reads: () => () => {},
  durations: () => () => {},
  gauge() {},
  counter() {},
};

/** What answered a read: rows in memory, the engine's index of ids or values, or a scan of the space. */
export type ReadSource = 'memory' | 'index' | 'scan';

/** @param args.worker 1 in a process without workers */
export function createMetrics({ worker }: { worker: number }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return {
    observer: measureRequests(registry),
    observeCall: measureCalls(registry),
    cache: measureCaches(registry),
    batch: measureBatches(registry),
    reads: () => measureReads(registry),
    durations: (name, help) => measureDurations(registry, name, help),
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
    gauges(name, help, label, read) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, number] of Object.entries(read())) this.set({ [label]: value }, number);
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
    counters: (name, help, label, read) => countSeries(registry, { name, help, label, read }),
    async json() {
      const metrics = (await registry.getMetricsAsJSON()) as { values: { labels: object }[] }[];
      return metrics.map((metric) => ({
        ...metric,
        // keeps the series of several workers apart
        aggregator: 'sum',
        values: metric.values.map((value) => ({
          ...value,
          labels: { ...value.labels, worker: `${worker}` },
        })),
      }));
    },
  };
}

function countSeries(
  registry: Registry,
  {
    name,
    help,
    label,
    read,
  }: {
    readonly name: string;
    readonly help: string;
    readonly label: string;
    readonly read: () => Readonly<Record<string, number>>;
  },
): void {
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, number] of Object.entries(read())) this.inc({ [label]: value }, number);
    },
  });
}

function measureDurations(registry: Registry, name: string, help: string): (seconds: number) => void {
  const durations = new Histogram({ name, help, buckets: durationBuckets, registers: [registry] });
  return (seconds) => durations.observe(seconds);
}

/** Counts the hits and misses of each cache. Counting costs only an addition. */
function measureCaches(registry: Registry): (name: CacheName) => CacheCounts {
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

/** Times calls to other systems, and counts them by outcome. */
function measureCalls(registry: Registry): ObserveCall {
  const durations = new Histogram({
    name: 'sluice_call_duration_seconds',
    help: 'Time that a call to the engine, to S3, to Redis, to a webhook or to the SMTP server took; of streams, until their first bytes',
    labelNames: ['system', 'call', 'outcome'],
    buckets: durationBuckets,
    registers: [registry],
  });
  const longest = new Map<string, number>();
  new Gauge({
    name: 'sluice_call_longest_seconds',
    help: 'The longest call to a system that ended since the last scrape, with its wait for a turn',
    labelNames: ['system'],
    registers: [registry],
    collect() {
      for (const [system, seconds] of longest) {
        this.set({ system }, seconds);
        longest.set(system, 0);
      }
    },
  });
  return async (system, call, work, options) => {
    const began = performance.now();
    let outcome: Outcome = 'ok';
    try {
      return await work();
    } catch (error) {
      outcome = outcomeOf(error, options);
      throw error;
    } finally {
      const seconds = (performance.now() - began) / 1000;
      durations.observe({ system, call, outcome }, seconds);
      longest.set(system, Math.max(seconds, longest.get(system) ?? 0));
    }
  };
}

/** Powers of two, from one request to the most that share a statement. */
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Counts reads of records by what answered them. */
function measureReads(registry: Registry): (source: ReadSource) => void {
  const reads = new Counter({
    name: 'sluice_record_reads_total',
    help: 'Reads of records, by where these came from',
    labelNames: ['source'],
    registers: [registry],
  });
  return (source) => reads.inc({ source });
}

function measureBatches(registry: Registry): (name: BatchName) => (requests: number) => void {
  const sizes = new Histogram({
    name: 'sluice_batch_requests',
    help: 'Requests that one statement was made for: look-ups of records and files, and group commits',
    labelNames: ['batch'],
    buckets: batchBuckets,
    registers: [registry],
  });
  return (batch) => (requests) => sizes.observe({ batch }, requests);
}
