import type { ApiError } from '../errors/api-error.ts';
import { notReady } from '../errors/catalogue.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { StoreUnavailable } from '../errors/store-unavailable.ts';
import type { Route } from '../http/http-types.ts';
import { untilAborted } from '../limits/until-aborted.ts';
import { healthWithTime, healthz, readyz } from './process-operations.ts';

/** Something the service can't work without. Rejects when it doesn't answer. */
export interface ReadinessCheck {
  readonly name: string;
  check(signal: AbortSignal): Promise<void>;
}

const checkTimeout = 2000;
/** Stores are asked no more often, however many ask for `/readyz`. Milliseconds. */
const lookInterval = 1000;
const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/**
 * `/healthz`, and `/health` for clients of the service before this one: the process is alive. `/readyz`: its stores answer, and it will go on.
 * @param unready why the process does not want requests, whatever its stores do; null when it does
 */
export function healthRoutes(checks: readonly ReadinessCheck[], unready: () => ApiError | null): Route[] {
  const failed = failedChecks(checks);
  const alive = { status: 200, headers, body: '{"status":"ok"}' };
  return [
    {
      operation: 'healthz',
      method: 'GET',
      path: '/healthz',
      api: healthz,
      allowPlainHttp: true,
      handler: () => alive,
    },
    {
      operation: 'health',
      method: 'GET',
      path: '/health',
      api: healthWithTime,
      allowPlainHttp: true,
      handler: () => ({
        ...alive,
        body: JSON.stringify({ status: 'ok', timestamp: new Date().toISOString() }),
      }),
    },
    {
      operation: 'readyz',
      method: 'GET',
      path: '/readyz',
      api: readyz,
      allowPlainHttp: true,
      async handler() {
        const reason = unready();
        if (reason !== null) throw reason;
        const problems = await failed();
        if (problems.length > 0) throw notReady(problems);
        return alive;
      },
    },
  ];
}

/** What is wrong with the stores: found out once in a while, for all that ask meanwhile. */
function failedChecks(checks: readonly ReadinessCheck[]): () => Promise<readonly string[]> {
  let look: Promise<readonly string[]> | null = null;
  let began = 0;
  const lookNow = async (): Promise<readonly string[]> => {
    const signal = AbortSignal.timeout(checkTimeout);
    const results = await Promise.allSettled(checks.map(({ check }) => untilAborted(check(signal), signal)));
    return checks.flatMap(({ name }, i) => {
      const result = results[i];
      return result?.status === 'rejected' ? [problemOf(name, result.reason)] : [];
    });
  };
  return () => {
    const now = performance.now();
    if (look === null || now - began > lookInterval) {
      look = lookNow();
      began = now;
    }
    return look;
  };
}

/** What else failed inside is for the log, not for the client. */
function problemOf(name: string, reason: unknown): string {
  if (isStorageFull(reason)) return `${name} has no room: its disk is full`;
  const problem = reason instanceof StoreUnavailable ? reason.problem : undefined;
  return problem === undefined ? `${name} does not answer` : `${name}: ${problem}`;
}
