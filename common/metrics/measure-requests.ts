import { Counter, Histogram, type Registry } from 'prom-client';
import type { HttpObserver } from '../calls/http-observer.ts';
import { durationBuckets } from './duration-buckets.ts';

const knownMethods = new Set(['GET', 'POST', 'DELETE', 'QUERY', 'HEAD', 'OPTIONS']);
/** nginx's status for requests whose client did not wait for an answer. */
const clientGone = 499;

/** Counts and times requests. What is none of ours, such as a path that nobody serves, is `none`. */
export function measureRequests(registry: Registry): HttpObserver {
  const registers = [registry];
  const requests = new Counter({
    name: 'sluice_http_requests_total',
    help: 'Requests that are over, by route pattern; status 499: the client did not wait for an answer',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'sluice_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer',
    labelNames: ['operation', 'status'],
    buckets: durationBuckets,
    registers,
  });
  const bodyBytes = new Counter({
    name: 'sluice_http_request_body_bytes_total',
    help: 'Bytes of request bodies that have arrived; those of uploads have the route of uploads',
    labelNames: ['route'],
    registers,
  });
  const answerBytes = new Counter({
    name: 'sluice_http_response_body_bytes_total',
    help: 'Bytes of answers that have been sent',
    labelNames: ['route'],
    registers,
  });
  const labelOf = (name: string): string => (name === '' ? 'none' : name);
  return {
    answered(request) {
      const route = labelOf(request.route);
      const status = request.status ?? clientGone;
      const method = knownMethods.has(request.method) ? request.method : 'other';
      requests.inc({ route, method, status });
      durations.observe({ operation: labelOf(request.operation), status }, request.seconds);
      if (request.bytesOut > 0) answerBytes.inc({ route }, request.bytesOut);
    },
    received: (route, bytes) => bodyBytes.inc({ route: labelOf(route) }, bytes),
  };
}
