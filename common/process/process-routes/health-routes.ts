import type { ApiError } from '#kernel/errors/api-error.ts';
import { notReady } from '#kernel/errors/catalogue.ts';
import type { ErrorCode } from '#kernel/errors/error-codes.ts';
import { isStorageFull } from '#kernel/errors/storage-full.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { arrayOf, dateTime, exactObject, type Schema, string } from '#kernel/json/schema.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Handler, Route } from '#server/http/http-types.ts';
import { jsonAnswer } from '#server/openapi/api-operation.ts';

/** Something that the service can't work without. Rejects when it doesn't respond. */
export interface ReadinessCheck {
  readonly name: string;
  check(signal: AbortSignal): Promise<void>;
}

/** The state of each ClickHouse store. */
interface StoreStates {
  readonly all: readonly { readonly name: string; readonly available: boolean }[];
}

const checkTimeout = 2000;
/** Least time between two checks of the stores, however often `/readyz` is requested. Milliseconds. */
const checkInterval = 1000;
const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** Errors of the routes about the process itself, which are also served over plain HTTP. */
export const probeErrors: readonly ErrorCode[] = [
  'malformed_request',
  'headers_too_large',
  'unknown_host',
  'shutting_down',
];

/**
 * `/healthz`, and `/health` for clients of the predecessor of this service: the process is alive. `/readyz`: its stores
 * respond, and it is not stopping.
 * @param unready why the process does not want requests, even if its stores respond; null: it does
 * @param stores of ClickHouse: the process is ready as long as the first one is up
 */
export function healthRoutes(
  checks: readonly ReadinessCheck[],
  unready: () => ApiError | null,
  stores: StoreStates = { all: [] },
): Route[] {
  const failed = failedChecks(checks);
  const alive = { status: 200, headers, body: '{"status":"ok"}' };
  return [
    probe('healthz', {
      id: 'checkLiveness',
      summary: 'Is the process alive?',
      handler: () => alive,
    }),
    probe('health', {
      id: 'getHealth',
      summary: 'Is the process alive, and what time is it?',
      more: { timestamp: dateTime },
      handler: () => ({
        ...alive,
        body: JSON.stringify({ status: 'ok', timestamp: new Date().toISOString() }),
      }),
    }),
    probe('readyz', {
      id: 'checkReadiness',
      summary: 'Do the stores answer?',
      more: { stores: arrayOf(exactObject({ name: string, available: { type: 'boolean' } })) },
      optional: ['stores'],
      errors: ['not_ready'],
      async handler() {
        const reason = unready();
        if (reason !== null) throw reason;
        const problems = await failed();
        if (problems.length > 0) throw notReady(problems);
        if (stores.all.length <= 1) return alive;
        const states = stores.all.map(({ name, available }) => ({ name, available }));
        return { ...alive, body: JSON.stringify({ status: 'ok', stores: states }) };
      },
    }),
  ];
}

/** @param name last part of the path @param more further properties of the answer @param optional which of them may be missing @param errors its own errors */
function probe(
  name: string,
  {
    id,
    summary,
    more = {},
    optional = [],
    errors = [],
    handler,
  }: {
    readonly id: string;
    readonly summary: string;
    readonly more?: Readonly<Record<string, Schema>>;
    readonly optional?: readonly string[];
    readonly errors?: readonly ErrorCode[];
    readonly handler: Handler;
  },
): Route {
  const schema = exactObject({ status: { type: 'string', enum: ['ok'] }, ...more }, { optional });
  return {
    operation: name,
    method: 'GET',
    path: `/${name}`,
    allowPlainHttp: true,
    handler,
    api: {
      id,
      tag: 'Health',
      summary,
      access: 'none',
      needs: null,
      description: 'Needs neither a token nor HTTPS.',
      answers: { 200: jsonAnswer('Yes', schema) },
      errors: [...probeErrors, ...errors],
      sample: (base) => `curl -sS ${base}/${name}`,
    },
  };
}

/** The problems of the stores, from a check that is shared by the requests of a period. */
function failedChecks(checks: readonly ReadinessCheck[]): () => Promise<readonly string[]> {
  let results: Promise<readonly string[]> | null = null;
  let began = 0;
  const checkAll = async (): Promise<readonly string[]> => {
    const signal = AbortSignal.timeout(checkTimeout);
    const settled = await Promise.allSettled(checks.map(({ check }) => untilAborted(check(signal), signal)));
    return checks.flatMap(({ name }, i) => {
      const result = settled[i];
      return result?.status === 'rejected' ? [problemOf(name, result.reason)] : [];
    });
  };
  return () => {
    const now = performance.now();
    if (results === null || now - began > checkInterval) {
      results = checkAll();
      began = now;
    }
    return results;
  };
}

/** Other failures are for the log, not for the client. */
function problemOf(name: string, reason: unknown): string {
  if (isStorageFull(reason)) return `${name} has no room: its disk is full`;
  const problem = reason instanceof StoreUnavailable ? reason.problem : undefined;
  return problem === undefined ? `${name} does not answer` : `${name}: ${problem}`;
}
