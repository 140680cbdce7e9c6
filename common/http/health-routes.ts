import { withDeadline } from '../abort/deadline.ts';
import { untilAborted } from '../abort/until-aborted.ts';
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
 * `/healthz`: the process is alive. `/readyz`: its stores answer, and it will go on.
 * @param unready why the process does not want requests, whatever its stores do; null when it does
 */
export function healthRoutes(checks: readonly ReadinessCheck[], unready: () => ApiError | null): Route[] {
  const alive = { status: 200, headers, body: '{"status":"ok"}' };
  return [
    { method: 'GET', path: '/healthz', allowPlainHttp: true, handler: () => alive },
    {
      method: 'GET',
      path: '/readyz',
      allowPlainHttp: true,
      async handler(request) {
        const reason = unready();
        if (reason !== null) throw reason;
        const results = await Promise.allSettled(
          checks.map((store) =>
            withDeadline(request.signal, checkTimeout, ({ signal }) =>
              untilAborted(store.check(signal), signal),
            ),
          ),
        );
        // what failed inside is for the log, not for whoever asks
        const failed = checks.filter((_, i) => results[i]?.status === 'rejected');
        if (failed.length > 0) throw notReady(failed.map(({ name }) => `${name} does not answer`));
        return alive;
      },
    },
  ];
}
