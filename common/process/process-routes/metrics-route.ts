import { createHash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import { string } from '#kernel/json/schema.ts';
import { metricsContentType } from '#kernel/telemetry/render-metrics.ts';
import type { Handler, Route } from '#server/http/http-types.ts';
import { type ApiOperation, noStore } from '#server/openapi/api-operation.ts';
import { getRoute } from './get-route.ts';
import { probeErrors } from './health-routes.ts';

const described: ApiOperation = {
  id: 'getMetrics',
  tag: 'Health',
  summary: 'Read the metrics of all workers',
  description:
    'For Prometheus. Without METRICS_TOKEN only the machine itself may ask; others get 404. Not for web pages.',
  access: 'metrics',
  needs: null,
  answers: {
    200: {
      description: 'The text format of Prometheus',
      headers: noStore,
      content: { 'text/plain': { schema: string } },
    },
  },
  errors: [...probeErrors, 'unauthorized', 'not_found', 'internal_error', 'deadline_exceeded'],
  sample: (base) => `curl -sS ${base}/metrics`,
};

/**
 * GET /metrics. Without a token only this machine itself may read it, not through a proxy and never from a web page. Plain
 * HTTP is served, as for probes, because Prometheus uses it inside a cluster: the token protects only these numbers.
 * @param args.read returns the text of all workers
 */
export function metricsRoute(args: { token: string | undefined; read: () => Promise<string> }): Route {
  const { token, read } = args;
  const wanted = token === undefined ? null : digest(`Bearer ${token}`);
  let reading: Promise<string> | null = null;
  const answer: Handler = async (request) => {
    const given = digest(request.header('authorization') ?? '');
    if (wanted !== null && !timingSafeEqual(wanted, given)) {
      throw unauthorized('The metrics token is missing or wrong');
    }
    // concurrent requests share an answer
    reading ??= read().finally(() => {
      reading = null;
    });
    const headers = { 'content-type': metricsContentType, 'cache-control': 'no-store' };
    return { status: 200, headers, body: await reading };
  };
  return {
    ...getRoute('/metrics', described, answer),
    operation: 'metrics',
    allowPlainHttp: true,
    localOnly: wanted === null,
    withoutCors: true,
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
