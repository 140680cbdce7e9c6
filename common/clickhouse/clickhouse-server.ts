import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client';
import type { ReadLimits } from '../config/settings.ts';
import { ApiError } from '../errors/api-error.ts';
import { databaseUnavailable, deadlineExceeded } from '../errors/catalogue.ts';
import { FairShare } from '../limits/fair-share.ts';
import { traceHeaders } from '../telemetry/active-span.ts';
import { type Answer, beginning, readAnswer, whole } from './clickhouse-answer.ts';
import { engineFailure, ServerSilent, StatementError, statementFailure } from './engine-failure.ts';
import { textLiteral } from './literal.ts';
import { StreamSlots } from './stream-slots.ts';
import { UnknownOutcome } from './unknown-outcome.ts';
import { withoutException } from './without-exception.ts';
import type { WritePermit } from './write-permit.ts';

export interface ServerOptions {
  /** http or https, without user and password; with a path where a proxy before the server needs one. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  /** PEM: the authority of the server's certificate; absent: the authorities that Node knows. */
  readonly ca?: Buffer | undefined;
  readonly reads: Pick<ReadLimits, 'minRate' | 'minRatePeriod'>;
}

export interface Statement {
  /** Complete SQL, or its chunks. */
  readonly body: string | readonly Uint8Array[];
  readonly settings: Readonly<Record<string, string | number>>;
  readonly writes: boolean;
  /** As in `ReadStatement`. */
  readonly account?: string | undefined;
}

/** How a statement may end from outside. */
export interface Until {
  /** Ends the attempt: the caller's signal, the deadline, or that the server is given up. */
  readonly signal: AbortSignal;
  /** The caller's signal alone: its own reason is thrown, and nobody waits for the outcome. */
  readonly caller: AbortSignal | undefined;
}

/** Connections for statements, and apart from them for streams, which slow readers hold for long. */
const statementConnections = 32;
/** Statement connections that reads of clients may take, and those of one account among them. */
const readConnections = 16;
const accountShare = 8;
const streamConnections = 64;
const queueLimit = 10_000;
const full = 'too many statements wait';
/** The engine's name of the error, for one that ends here: the readers of a stream may have it wait. */
const timeoutExceeded = 'TIMEOUT_EXCEEDED';

/**
 * The server closes a connection that nobody used for keep_alive_timeout: 10 s by default, 3 s before 23.11. A
 * statement that takes it in that moment fails as a whole, so it has to be closed well before.
 */
const idleLimit = 2500;
/** The client's own deadline counts the time in which nobody reads; the largest timer switches it off. */
const never = 2 ** 31 - 1;
/** How long a statement with an unknown outcome is waited for, and the pause between two checks. Milliseconds. */
const overLimit = 10_000;
const overInterval = 50;

/** One server, over its HTTP interface. Nothing is asked of it before the first statement. */
export class ClickhouseServer {
  readonly url: string;
  readonly #statements: ClickHouseClient;
  readonly #streams: ClickHouseClient;
  /** The others may all be held by statements that take long. */
  readonly #probes: ClickHouseClient;
  readonly #statementSlots: FairShare;
  readonly #readSlots: FairShare;
  readonly #streamSlots: StreamSlots;

  constructor(options: ServerOptions) {
    this.url = options.url;
    this.#statements = openClient(options, statementConnections);
    this.#streams = openClient(options, streamConnections);
    this.#probes = openClient(options, 1);
    const common = { queueLimit, full };
    this.#statementSlots = new FairShare({ capacity: statementConnections - readConnections, ...common });
    this.#readSlots = new FairShare({
      ...{ capacity: readConnections, share: accountShare, reserve: 1 },
      ...common,
    });
    this.#streamSlots = new StreamSlots({ limit: streamConnections, queueLimit, limits: options.reads });
  }

  /** Runs a statement to its end. Answers the bytes of its result. Throws as `Database` says. */
  async run(statement: Statement, { signal, caller }: Until, permit?: WritePermit): Promise<Buffer> {
    const queryId = randomUUID();
    let sent = false;
    try {
      const { account } = statement;
      const slots = account === undefined ? this.#statementSlots : this.#readSlots;
      const release = await slots.take(signal, account);
      try {
        permit?.check();
        sent = true;
        return await whole(await send(this.#statements, queryId, statement, signal), signal);
      } finally {
        release();
      }
    } catch (error) {
      if (sent && statement.account !== undefined && signal.aborted) this.#kill(queryId);
      caller?.throwIfAborted();
      if (!sent) throw error instanceof ApiError ? error : databaseUnavailable(error);
      // the client's own error for an aborted request does not say why
      throw await this.#settled(queryId, statementFailure(signal.aborted ? signal.reason : error, statement));
    }
  }

  /**
   * The chunks of a result. Rejects when the statement fails before the first, or before `args.ahead` bytes.
   * @param args.timeout milliseconds between chunks
   */
  async stream(
    statement: Statement,
    { signal, caller }: Until,
    args: { readonly timeout: number; readonly ahead: number },
  ): Promise<AsyncIterable<Uint8Array>> {
    const queryId = randomUUID();
    let release = (): void => {};
    let sent = false;
    try {
      const place = await this.#streamSlots.take(signal, statement.account);
      release = place.release;
      sent = true;
      const answer = await send(this.#streams, queryId, statement, signal);
      // the client no longer heeds the signal once the head is there
      const giveUp = (): void => void answer.body.destroy(signal.reason as Error);
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        return place.paced(await readAnswer(answer, { ...args, release, signal: caller }));
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
    } catch (error) {
      release();
      const ended = statement.account !== undefined && signal.aborted;
      if (ended) this.#kill(queryId);
      caller?.throwIfAborted();
      // a read that takes long says nothing of the server
      if (ended && !(signal.reason instanceof ServerSilent))
        throw deadlineExceeded(args.timeout, sent ? new Error(timeoutExceeded) : undefined);
      throw statementFailure(signal.aborted ? signal.reason : error, statement);
    }
  }

  /** Its answer to a query that costs nothing, on a connection of its own. Rejects when there is no answer. */
  async probe(signal: AbortSignal): Promise<'well' | 'busy'> {
    try {
      await ask(this.#probes, 'SELECT 1\nFORMAT JSONEachRow', signal);
      return 'well';
    } catch (error) {
      const reason = error instanceof ApiError ? error.cause : error;
      if (reason instanceof StatementError) return 'busy';
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#streamSlots.close();
    await this.#probes.close();
    await this.#statements.close();
    await this.#streams.close();
  }

  /** Withholds the news of an unknown outcome until the statement is over, so that it can be looked up. */
  async #settled(queryId: string, failure: Error): Promise<Error> {
    if (!(failure instanceof UnknownOutcome) || failure.cause instanceof ServerSilent) return failure;
    const until = performance.now() + overLimit;
    try {
      while (performance.now() < until && (await this.#isRunning(queryId))) {
        await new Promise((resolve) => setTimeout(resolve, overInterval));
      }
    } catch {
      // no answer, or no right to list statements: the outcome is looked up in any case
    }
    return failure;
  }

  async #isRunning(queryId: string): Promise<boolean> {
    const sql = `SELECT 1 FROM system.processes WHERE query_id = ${textLiteral(queryId)}\nFORMAT JSONEachRow`;
    return (await ask(this.#statements, sql, AbortSignal.timeout(overLimit))).byteLength > 0;
  }

  /** Ends a read that nobody waits for any more. */
  #kill(queryId: string): void {
    const sql = `KILL QUERY WHERE query_id = ${textLiteral(queryId)} ASYNC`;
    // a user may lack the right, and the server ends it by its limit of time at the latest
    ask(this.#statements, sql, AbortSignal.timeout(overLimit)).catch(() => {});
  }
}

/** Runs a small statement of this module. */
async function ask(client: ClickHouseClient, body: string, signal: AbortSignal): Promise<Buffer> {
  const statement = { body, settings: { wait_end_of_query: 1 }, writes: false };
  return whole(await send(client, randomUUID(), statement, signal), signal);
}

function openClient(options: ServerOptions, connections: number): ClickHouseClient {
  const { origin, pathname } = new URL(options.url);
  return createClient({
    url: origin,
    // in the address the client would take a path for the name of a database
    ...(pathname === '/' ? {} : { pathname }),
    ...(options.ca === undefined ? {} : { tls: { ca_cert: options.ca } }),
    username: options.user,
    password: options.password,
    application: 'sluice',
    max_open_connections: connections,
    request_timeout: never,
    keep_alive: { enabled: true, idle_socket_ttl: idleLimit, eagerly_destroy_stale_sockets: true },
    // failures are thrown; its own log would show statements, and with them values
    log: { level: ClickHouseLogLevel.OFF },
  });
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
    http_headers: traceHeaders(),
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
