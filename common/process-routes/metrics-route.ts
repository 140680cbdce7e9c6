import { createHash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from '../errors/catalogue.ts';
import type { Route } from '../http/http-types.ts';
import { metricsContentType } from '../telemetry/render-metrics.ts';
import { metrics } from './process-operations.ts';

/**
 * GET /metrics. Without a token only this machine itself may ask, and not through a proxy, and never a web page that is open on it. Plain HTTP is served, as to
 * probes, because that is how Prometheus asks inside a cluster: the token guards these numbers and nothing else.
 * @param args.read the text of all workers
 */
export function metricsRoute(args: { token: string | undefined; read: () => Promise<string> }): Route {
  const { token, read } = args;
  const wanted = token === undefined ? null : digest(`Bearer ${token}`);
  let reading: Promise<string> | null = null;
  return {
    operation: 'metrics',
    method: 'GET',
    path: '/metrics',
    api: metrics,
    allowPlainHttp: true,
    localOnly: wanted === null,
    withoutCors: true,
    async handler(request) {
      const given = digest(request.header('authorization') ?? '');
      if (wanted !== null && !timingSafeEqual(wanted, given)) {
        throw unauthorized('The metrics token is missing or wrong');
      }
      // who asks at the same time gets the same
      reading ??= read().finally(() => {
        reading = null;
      });
      const body = await reading;
      return {
        status: 200,
        headers: { 'content-type': metricsContentType, 'cache-control': 'no-store' },
        body,
      };
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
