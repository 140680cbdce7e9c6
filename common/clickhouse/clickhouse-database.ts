import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client';
import { ApiError } from '../errors/api-error.ts';
import { databaseUnavailable } from '../errors/catalogue.ts';
import { Semaphore } from '../limits/semaphore.ts';
import { type Answer, beginning, readAnswer, whole } from './clickhouse-answer.ts';
import type { Database } from './database.ts';
import { engineFailure, statementFailure } from './engine-failure.ts';
import { engineSettings, streamSettings, wholeBlockSettings } from './engine-settings.ts';
import { textLiteral } from './literal.ts';
import { startDeadline } from './start-deadline.ts';
import { StatementError } from './statement-error.ts';
import { UnknownOutcome } from './unknown-outcome.ts';
import { withoutException } from './without-exception.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

export interface ClickhouseOptions {
  /** http or https, without user and password; a path is what a proxy before the server wants. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** Milliseconds in which a statement has to be done, and a stream has to bring its next bytes. */
  readonly timeout?: number;
}

/** Connections for statements, and apart from them for streams, which slow readers hold for long. */
const statementConnections = 32;
const streamConnections = 64;
const queueLimit = 10_000;
const full = 'too many statements wait';

/**
 * The server closes a connection that nobody used for keep_alive_timeout: 10 s by default, 3 s before 23.11. One that
 * is taken up in that moment fails as a whole, so it has to be let go well before.
 */
const idleLimit = 2500;
/** The client's own deadline counts the time in which nobody reads; what a timer can hold at most switches it off. */
const never = 2 ** 31 - 1;
/** Of a statement that its caller has lost sight of: how long it is waited for, and how often looked after. */
const overLimit = 10_000;
const overInterval = 50;
/** What the server takes for the statement before the rows: as much of a body it copies before it reads it. */
const insertHeadLimit = 256 * 1024;

/** A ClickHouse server, over its HTTP interface. Nothing is asked of it before the first statement. */
export function openClickhouse(options: ClickhouseOptions): Database {
  const { timeout = 60_000 } = options;
  const statements = openClient(options, statementConnections);
  const streams = openClient(options, streamConnections);
  const statementTurns = new Semaphore({ limit: statementConnections, queueLimit, full });
  const streamTurns = new Semaphore({ limit: streamConnections, queueLimit, full });

  /** Runs a statement to its end. Answers the bytes of its result. */
  const run = async (
    request: Statement,
    signal: AbortSignal | undefined,
    permit?: WritePermit,
  ): Promise<Buffer> => {
    const deadline = startDeadline(timeout, signal);
    const queryId = randomUUID();
    let sent = false;
    try {
      const release = await statementTurns.take(deadline.signal);
      try {
        permit?.check();
        sent = true;
        return await whole(await send(statements, queryId, request, deadline.signal), deadline.signal);
      } finally {
        release();
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!sent) throw error instanceof ApiError ? error : databaseUnavailable(error);
      const failure = await settled(queryId, statementFailure(deadline.reason() ?? error, request));
      throw permit !== undefined && tookTooLong(failure)
        ? new StatementTimeout(permit.timeLimit, failure)
        : failure;
    } finally {
      deadline.end();
    }
  };

  /** Holds the news that an outcome is unknown back until the statement is over, so that it can be looked up. */
  const settled = async (queryId: string, failure: Error): Promise<Error> => {
    if (!(failure instanceof UnknownOutcome)) return failure;
    const until = performance.now() + overLimit;
    try {
      while (performance.now() < until && (await isRunning(queryId))) {
        await new Promise((resolve) => setTimeout(resolve, overInterval));
      }
    } catch {
      // the server is away, or tells this user nothing of what runs: whoever looks the outcome up finds out as well
    }
    return failure;
  };
  const isRunning = async (queryId: string): Promise<boolean> => {
    const sql = `SELECT 1 FROM system.processes WHERE query_id = ${textLiteral(queryId)}`;
    const signal = AbortSignal.timeout(overLimit);
    const answer = await send(statements, randomUUID(), readStatement(sql, 'JSONEachRow', timeout), signal);
    return (await whole(answer, signal)).byteLength > 0;
  };

  return {
    async command(sql, signal, permit) {
      const settings = { ...engineSettings, wait_end_of_query: 1, ...timeLimitSetting(permit) };
      await run({ body: sql, settings, writes: true }, signal, permit);
    },
    async rows<Row>(sql: string, signal?: AbortSignal) {
      const text = (await run(readStatement(sql, 'JSONEachRow', timeout), signal)).toString('utf8').trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    async stream(sql, format, signal) {
      const deadline = startDeadline(timeout, signal);
      let release = (): void => {};
      try {
        release = await streamTurns.take(deadline.signal);
        const body = `${sql}\nFORMAT ${format}`;
        const settings = { ...engineSettings, ...streamSettings };
        const request = { body, settings, writes: false };
        const answer = await send(streams, randomUUID(), request, deadline.signal);
        return await readAnswer(answer, { release, timeout, signal });
      } catch (error) {
        release();
        signal?.throwIfAborted();
        throw statementFailure(deadline.reason() ?? error, { writes: false });
      } finally {
        deadline.end();
      }
    },
    async insert(table, columns, lines, signal, permit) {
      // the statement goes before the rows: as part of the address it could be too long for a proxy
      const head = Buffer.from(`INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow\n`);
      const settings = {
        ...engineSettings,
        ...wholeBlockSettings,
        max_query_size: Math.max(1, Math.ceil(head.byteLength / insertHeadLimit)) * 2 * insertHeadLimit,
        wait_end_of_query: 1,
        ...timeLimitSetting(permit),
      };
      await run({ body: [head, lines], settings, writes: true }, signal, permit);
    },
    async ready(signal) {
      await run(readStatement('SELECT 1', 'JSONEachRow', timeout), signal);
    },
    async close() {
      await statements.close();
      await streams.close();
    },
  };
}

/** TIMEOUT_EXCEEDED, by the engine's number: nothing was written. */
function tookTooLong({ cause }: Error): boolean {
  return cause instanceof StatementError && cause.engineCode === 159;
}

/** Seconds. A statement that takes longer fails as a whole. */
function timeLimitSetting(permit: WritePermit | undefined): Readonly<Record<string, number>> {
  return permit === undefined ? {} : { max_execution_time: permit.timeLimit / 1000 };
}

function openClient(options: ClickhouseOptions, connections: number): ClickHouseClient {
  const { origin, pathname } = new URL(options.url);
  return createClient({
    url: origin,
    // in the address the client would take a path for the name of a database
    ...(pathname === '/' ? {} : { pathname }),
    username: options.user,
    password: options.password,
    application: 'sluice',
    max_open_connections: connections,
    request_timeout: never,
    keep_alive: { enabled: true, idle_socket_ttl: idleLimit, eagerly_destroy_stale_sockets: true },
    // what fails is thrown; its own log would show statements, and with them values
    log: { level: ClickHouseLogLevel.OFF },
  });
}

interface Statement {
  /** Complete SQL, or its chunks. */
  readonly body: string | readonly Uint8Array[];
  readonly settings: Readonly<Record<string, string | number>>;
  readonly writes: boolean;
}

/** A SELECT that is answered as a whole, so that what fails has a status of its own. */
function readStatement(sql: string, format: string, timeout: number): Statement {
  return {
    body: `${sql}\nFORMAT ${format}`,
    // a server goes on with what nobody waits for
    settings: { ...engineSettings, wait_end_of_query: 1, max_execution_time: Math.ceil(timeout / 1000) },
    writes: false,
  };
}

/** Sends a statement. Resolves when the head of a good answer is there; an answer that is none is thrown. */
async function send(
  client: ClickHouseClient,
  queryId: string,
  { body, settings }: Statement,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const chunks = typeof body === 'string' ? [Buffer.from(body)] : body;
  const answer = await client.exec({
    // all of the statement is in the body
    query: '',
    values: Readable.from(chunks, { objectMode: false }),
    clickhouse_settings: settings as ClickHouseSettings,
    query_id: queryId,
    abort_signal: signal,
    // the client would read an error of any length
    ignore_error_response: true,
  });
  const { stream, response_headers: headers, http_status_code: status = 0 } = answer;
  const code = header(headers['x-clickhouse-exception-code']);
  if (status === 200 && code === undefined) {
    return { body: stream, data: withoutException(stream, header(headers['x-clickhouse-exception-tag'])) };
  }
  const text = await beginning(stream, signal);
  if (code !== undefined || /^Code: \d+/.test(text)) throw engineFailure({ text, code });
  // a proxy: whether the engine saw the statement is not known
  throw new Error(`the database answered with status ${status}: ${text.slice(0, 200)}`);
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
