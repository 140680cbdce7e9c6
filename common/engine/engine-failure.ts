import { ApiError } from '#kernel/errors/api-error.ts';
import { databaseUnavailable, overloaded } from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';

/** The engine refused a statement or failed: nothing was written. */
export class StatementError extends Error {
  /** The engine's number of the error: https://clickhouse.com/docs/operations/system-tables/errors */
  readonly engineCode: number;

  constructor(engineCode: number, message: string) {
    super(message);
    this.name = 'StatementError';
    this.engineCode = engineCode;
  }
}

/** A server that accepted a statement no longer responds. */
export class ServerSilent extends Error {
  constructor(url: string) {
    super(`the ClickHouse server at ${url} no longer answers`);
    this.name = 'ServerSilent';
  }
}

/**
 * Failures of the server, not of the statement, which had no effect: `busy` is overloaded, `unable` can't run it at the
 * moment, `denied` is forbidden by the server's operator. Names and numbers:
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const failures: Readonly<Record<number, 'busy' | 'unable' | 'denied'>> = {
  159: 'busy', // TIMEOUT_EXCEEDED
  173: 'busy', // CANNOT_ALLOCATE_MEMORY
  201: 'busy', // QUOTA_EXCEEDED
  202: 'busy', // TOO_MANY_SIMULTANEOUS_QUERIES
  241: 'busy', // MEMORY_LIMIT_EXCEEDED
  252: 'busy', // TOO_MANY_PARTS
  439: 'busy', // CANNOT_SCHEDULE_TASK
  745: 'busy', // SERVER_OVERLOADED
  394: 'busy', // QUERY_WAS_CANCELLED, by the server's operator
  225: 'unable', // NO_ZOOKEEPER
  236: 'unable', // ABORTED: it shuts down
  242: 'unable', // TABLE_IS_READ_ONLY
  243: 'unable', // NOT_ENOUGH_SPACE
  285: 'unable', // TOO_FEW_LIVE_REPLICAS
  289: 'unable', // REPLICA_IS_NOT_IN_QUORUM
  164: 'denied', // READONLY
  192: 'denied', // UNKNOWN_USER
  291: 'denied', // DATABASE_ACCESS_DENIED
  452: 'denied', // SETTING_CONSTRAINT_VIOLATION
  497: 'denied', // ACCESS_DENIED
  516: 'denied', // AUTHENTICATION_FAILED
};
/** Errors such as CANNOT_WRITE_TO_FILE_DESCRIPTOR when the disk is full. */
const diskFull = /errno: 28\b|No space left on device/;
/** Errors that can end a statement at any moment, even after it wrote; observed with INSERT and UPDATE. */
const cutOff: ReadonlySet<number> = new Set([159, 236, 394]);
/** UNKNOWN_STATUS_OF_INSERT: a replica lost its connection to Keeper. */
const unknownStatusOfInsert = 319;

/** Failures after which a server is set aside, because another may be healthy. */
const serverCodes: ReadonlySet<number> = new Set([202, 225, 236, 242, 243, 289, 439, 745]);

const shownLength = 2000;

/**
 * The error for a message of the engine: a 503 if it is only overloaded.
 * @param args.code from the answer's head; absent: it is in the text
 */
export function engineFailure(args: { text: string; code?: string | undefined }): Error {
  const { text } = args;
  const code = Number(args.code ?? /\bCode: (\d+)/.exec(text)?.[1] ?? Number.NaN);
  const error = new StatementError(
    Number.isSafeInteger(code) ? code : 0,
    `the database failed: ${text.slice(0, shownLength)}`,
  );
  const failure = diskFull.test(text) ? 'unable' : failures[code];
  if (failure === 'busy') return overloaded('the database is overloaded', error);
  if (failure !== undefined) return databaseUnavailable(error);
  return code === unknownStatusOfInsert ? new UnknownOutcome(error) : error;
}

/**
 * The error of a failed connection. The statement had no effect if the connect failed, or if it only reads; otherwise the
 * outcome is unknown.
 */
function connectionFailure(cause: unknown, { writes }: { writes: boolean }): Error {
  return writes && !neverConnected(cause) ? new UnknownOutcome(cause) : databaseUnavailable(cause);
}

/** Errors before any byte was sent. */
const connectCodes: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

function neverConnected(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return connectCodes.has(code ?? '') || syscall === 'connect';
}

/** The error of a statement, for any thrown value. */
export function statementFailure(error: unknown, { writes }: { writes: boolean }): Error {
  if (error instanceof ApiError) {
    const { cause } = error;
    const isCutOff = writes && cause instanceof StatementError && cutOff.has(cause.engineCode);
    return isCutOff ? new UnknownOutcome(cause, error) : error;
  }
  const isKnown = error instanceof StatementError || error instanceof UnknownOutcome;
  return isKnown ? error : connectionFailure(error, { writes });
}

/** Whether a failure means that the server should be avoided for now: it is down, broke off, or is overloaded. */
export function isServerFailure(error: unknown): boolean {
  const isUnknown = error instanceof UnknownOutcome;
  if (!isUnknown && !(error instanceof ApiError)) return false;
  const { cause } = error;
  if (cause instanceof StatementError) return serverCodes.has(cause.engineCode);
  return isUnknown || error.code === 'not_ready';
}
