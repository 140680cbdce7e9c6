import { Counter, type Registry } from 'prom-client';
import { DurationHistogram, Durations } from './duration-histogram.ts';
import type { FinishedRequest, HttpObserver } from './http-observer.ts';

const knownMethods = new Set(['GET', 'POST', 'DELETE', 'QUERY', 'HEAD', 'OPTIONS']);
/** nginx's status for a request whose client left before the response. */
const clientGone = 499;

/** The labels of a request series. */
interface RequestSeries {
  readonly labels: { readonly route: string; readonly method: string; readonly status: number };
  readonly operation: string;
  readonly durations: Durations;
  requests: number;
  bytesOut: number;
}

/** Counts and times requests. The operation of an unknown path is `none`. */
export function measureRequests(registry: Registry): HttpObserver {
  const registers = [registry];
  const counts = new RequestCounts();
  new Counter({
    name: 'sluice_http_requests_total',
    help: 'Requests that are over, by route pattern; status 499: the client did not wait for an answer',
    labelNames: ['route', 'method', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { labels, requests } of counts.all()) this.inc({ ...labels }, requests);
    },
  });
  new DurationHistogram({
    name: 'sluice_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer',
    registers,
    read: () => counts.durations(),
  });
  const bodyBytes = new Counter({
    name: 'sluice_http_request_body_bytes_total',
    help: 'Bytes of request bodies that have arrived; those of uploads have the route of uploads',
    labelNames: ['route'],
    registers,
  });
  new Counter({
    name: 'sluice_http_response_body_bytes_total',
    help: 'Bytes of answers that have been sent',
    labelNames: ['route'],
    registers,
    collect() {
      this.reset();
      for (const { labels, bytesOut } of counts.all()) {
        if (bytesOut > 0) this.inc({ route: labels.route }, bytesOut);
      }
    },
  });
  return {
    answered: (request) => counts.add(request),
    received: (route, bytes) => bodyBytes.inc({ route: labelOf(route) }, bytes),
  };
}

/** Counts by route in a map. A prom-client counter would build a string of its labels on every call. */
class RequestCounts {
  readonly #byRoute = new Map<string, RequestSeries[]>();
  readonly #durations = new Map<string, Durations>();

  add(request: FinishedRequest): void {
    const series = this.#series(request);
    series.requests++;
    series.bytesOut += request.bytesOut;
    series.durations.observe(request.seconds);
  }

  *all(): Iterable<RequestSeries> {
    for (const group of this.#byRoute.values()) yield* group;
  }

  durations(): Iterable<Durations> {
    return this.#durations.values();
  }

  /** Searches the few series of a route, which differ by method and status. */
  #series({ route, operation, method: given, status: taken }: FinishedRequest): RequestSeries {
    const status = taken ?? clientGone;
    const method = knownMethods.has(given) ? given : 'other';
    let group = this.#byRoute.get(route);
    if (group === undefined) {
      group = [];
      this.#byRoute.set(route, group);
    }
    for (const series of group) {
      const { labels } = series;
      if (labels.status === status && labels.method === method && series.operation === operation)
        return series;
    }
    const labels = { route: labelOf(route), method, status };
    const durations = this.#durationsOf(labelOf(operation), status);
    const series = { labels, operation, durations, requests: 0, bytesOut: 0 };
    group.push(series);
    return series;
  }

  #durationsOf(operation: string, status: number): Durations {
    const key = `${operation} ${status}`;
    const durations = this.#durations.get(key) ?? new Durations({ operation, status });
    this.#durations.set(key, durations);
    return durations;
  }
}

function labelOf(name: string): string {
  return name === '' ? 'none' : name;
}
