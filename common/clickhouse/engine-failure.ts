import { ApiError } from '../errors/api-error.ts';
import { databaseUnavailable, overloaded } from '../errors/catalogue.ts';
import { UnknownOutcome } from './unknown-outcome.ts';

/** The engine refused a statement, or failed at it: nothing was written. */
export class StatementError extends Error {
  /** The engine's number of the error: https://clickhouse.com/docs/operations/system-tables/errors */
  readonly engineCode: number;

  constructor(engineCode: number, message: string) {
    super(message);
    this.name = 'StatementError';
    this.engineCode = engineCode;
  }
}

/** A server that took a statement no longer answers anything. */
export class ServerSilent extends Error {
  constructor(url: string) {
    super(`the ClickHouse server at ${url} no longer answers`);
    this.name = 'ServerSilent';
  }
}

/**
 * The server has too much to do at the moment, and did not do this: TOO_MANY_SIMULTANEOUS_QUERIES,
 * MEMORY_LIMIT_EXCEEDED, TOO_MANY_PARTS, CANNOT_SCHEDULE_TASK, SERVER_OVERLOADED, TIMEOUT_EXCEEDED.
 */
const overloadCodes: ReadonlySet<number> = new Set([159, 202, 241, 252, 439, 745]);
/** The server can't do it at the moment, and did nothing: TABLE_IS_READ_ONLY, TOO_FEW_LIVE_REPLICAS, NO_ZOOKEEPER. */
const unableCodes: ReadonlySet<number> = new Set([242, 285, 225]);
/** UNKNOWN_STATUS_OF_INSERT: a cluster that lost touch with Keeper can't tell. */
const unknownStatusOfInsert = 319;
/** TIMEOUT_EXCEEDED, also of DDL that continues in the background. */
const timeoutExceeded = 159;
const goesOn = /distributed_ddl_task_timeout|Distributed DDL task|in background/;

/**
 * Failures of a server and not of a statement: TOO_MANY_SIMULTANEOUS_QUERIES, CANNOT_SCHEDULE_TASK, SERVER_OVERLOADED,
 * and a lost connection to Keeper.
 */
const serverCodes: ReadonlySet<number> = new Set([202, 439, 745, 242, 225]);

const shownLength = 2000;

/**
 * The error of an engine's message: a 503 when it is only too busy.
 * @param args.code from the answer's head; absent: the text has it
 */
export function engineFailure(args: { text: string; code?: string | undefined }): Error {
  const { text } = args;
  const code = Number(args.code ?? /\bCode: (\d+)/.exec(text)?.[1] ?? Number.NaN);
  const error = new StatementError(
    Number.isSafeInteger(code) ? code : 0,
    `the database failed: ${text.slice(0, shownLength)}`,
  );
  if (code === timeoutExceeded && goesOn.test(text)) return new UnknownOutcome(error);
  if (unableCodes.has(code)) return databaseUnavailable(error);
  if (overloadCodes.has(code)) return overloaded('the database has too much to do', error);
  return code === unknownStatusOfInsert ? new UnknownOutcome(error) : error;
}

/**
 * The error of a failed connection. Nothing has happened when there never was one, or when the statement only reads;
 * otherwise the outcome is unknown.
 */
function connectionFailure(cause: unknown, { writes }: { writes: boolean }): Error {
  return writes && !neverConnected(cause) ? new UnknownOutcome(cause) : databaseUnavailable(cause);
}

/** Errors that come before a byte could be sent. */
const connectCodes: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

function neverConnected(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return connectCodes.has(code ?? '') || syscall === 'connect';
}

/** The error of a statement, from any thrown value. */
export function statementFailure(error: unknown, { writes }: { writes: boolean }): Error {
  const isKnown = error instanceof ApiError || error instanceof StatementError;
  return isKnown || error instanceof UnknownOutcome ? error : connectionFailure(error, { writes });
}

/** Whether a failure says that the server is not to be asked for now: it is away, broke off, or can do no more. */
export function isServerFailure(error: unknown): boolean {
  if (error instanceof UnknownOutcome) return !(error.cause instanceof StatementError);
  if (!(error instanceof ApiError)) return false;
  const { cause, code } = error;
  return cause instanceof StatementError ? serverCodes.has(cause.engineCode) : code === 'not_ready';
}
