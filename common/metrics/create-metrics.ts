import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpObserver } from '../http/http-observer.ts';

/** What a process measures of itself. No label ever holds what a client sent. */
export interface Metrics {
  readonly observer: HttpObserver;
  /** Adds a number that is read when somebody asks. */
  gauge(name: string, help: string, read: () => number): void;
  /** The same for one that never falls. */
  counter(name: string, help: string, read: () => number): void;
  /** All of it, as JSON of prom-client, each series with its worker. */
  json(): Promise<object[]>;
}

/** Seconds: from an answer out of memory to the longest that a request may take. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const knownMethods = new Set(['GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS']);
/** nginx's status for requests whose client did not wait for an answer. */
const clientGone = 499;

/** @param args.worker 1 for a process that is alone */
export function createMetrics({ worker }: { worker: number }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'sluice_http_requests_total',
    help: 'Requests that are over, by route pattern; status 499: the client did not wait for an answer',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'sluice_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['route', 'method'],
    buckets,
    registers,
  });
  const bodyBytes = new Counter({
    name: 'sluice_http_request_body_bytes_total',
    help: 'Bytes of request bodies that have arrived; those of uploads have the route of uploads',
    labelNames: ['route'],
    registers,
  });
  const routeLabel = (route: string): string => (route === '' ? 'none' : route);
  return {
    observer: {
      answered(pattern, given, status, seconds) {
        const route = routeLabel(pattern);
        const method = knownMethods.has(given) ? given : 'other';
        requests.inc({ route, method, status: status ?? clientGone });
        durations.observe({ route, method }, seconds);
      },
      received: (route, bytes) => bodyBytes.inc({ route: routeLabel(route) }, bytes),
    },
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
