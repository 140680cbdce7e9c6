import type { ApiError } from '../errors/api-error.ts';
import { notReady } from '../errors/catalogue.ts';
import type { Route } from './http-types.ts';

/** Something the service can't work without. Rejects when it doesn't answer. */
export interface ReadinessCheck {
  readonly name: string;
  check(signal: AbortSignal): Promise<void>;
}

const checkTimeout = 2000;
const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/**
 * `/healthz`, and `/health` for clients of the service before this one: the process is alive. `/readyz`: its stores answer, and it will go on.
 * @param unready why the process does not want requests, whatever its stores do; null when it does
 */
export function healthRoutes(checks: readonly ReadinessCheck[], unready: () => ApiError | null): Route[] {
  const alive = { status: 200, headers, body: '{"status":"ok"}' };
  return [
    { method: 'GET', path: '/healthz', allowPlainHttp: true, handler: () => alive },
    {
      method: 'GET',
      path: '/health',
      allowPlainHttp: true,
      handler: () => ({
        ...alive,
        body: JSON.stringify({ status: 'ok', timestamp: new Date().toISOString() }),
      }),
    },
    {
      method: 'GET',
      path: '/readyz',
      allowPlainHttp: true,
      async handler(request) {
        const reason = unready();
        if (reason !== null) throw reason;
        const signal = AbortSignal.any([request.signal, AbortSignal.timeout(checkTimeout)]);
        const results = await Promise.allSettled(checks.map((check) => check.check(signal)));
        // what failed inside is for the log, not for whoever asks
        const failed = checks.filter((_, i) => results[i]?.status === 'rejected');
        if (failed.length > 0) throw notReady(failed.map(({ name }) => `${name} does not answer`));
        return alive;
      },
    },
  ];
}
