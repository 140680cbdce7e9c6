import { randomUUID } from 'node:crypto';
import type { ReadLimits } from '#kernel/config/settings.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { databaseUnavailable, deadlineExceeded } from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { whileWanted } from '#kernel/limits/deadline.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';
import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import { readAnswer, readWhole } from './clickhouse-answer.ts';
import { ClickhouseHttp, type HttpOptions, type StatementText } from './clickhouse-http.ts';
import { ServerSilent, StatementError, statementFailure } from './engine-failure.ts';
import { textLiteral } from './literal.ts';
import { createStreamSlots, paced } from './stream-slots.ts';
import type { WritePermit } from './write-permit.ts';

export interface ServerOptions extends HttpOptions {
  readonly reads: Pick<ReadLimits, 'minRate' | 'minRatePeriod'>;
}

export interface Statement extends StatementText {
  readonly writes: boolean;
  /** As in `ReadStatement`. */
  readonly account?: string | undefined;
}

/** How a statement can be cancelled. */
export interface Cancellation {
  /** Ends the attempt: the caller aborted, the deadline passed, or the server was given up. */
  readonly signal: AbortSignal;
  /** Only the caller's signal: its reason is thrown, and nobody waits for the outcome. */
  readonly caller: AbortSignal | undefined;
  /** Aborts the signal. */
  readonly stop?: (reason: unknown) => void;
}

/** Connections for statements, and separate connections for streams, which slow readers hold for long. */
const statementConnections = 32;
/** How many statement connections clients' reads may use, and how many of those a single account. */
const readConnections = 16;
const accountShare = 8;
const streamConnections = 64;
const queueLimit = 10_000;
const full = 'too many statements wait';
/** The engine's name for a timeout, for reads that are ended here. */
const timeoutExceeded = 'TIMEOUT_EXCEEDED';

/** How long to wait for the end of a statement with an unknown outcome, and the pause between two checks. Milliseconds. */
const overLimit = 10_000;
const overInterval = 50;
/** How long a server may take to confirm that it is running a read. */
const worksLimit = 2000;

/** A server, over its HTTP interface. Sends nothing before the first statement. */
export class ClickhouseServer {
  readonly url: string;
  readonly #statements: ClickhouseHttp;
  readonly #streams: ClickhouseHttp;
  /** Separate, because long statements may hold all other connections. */
  readonly #probes: ClickhouseHttp;
  readonly #statementSlots: FairShare;
  readonly #readSlots: FairShare;
  readonly #streamSlots: ReaderSlots;

  constructor(options: ServerOptions) {
    this.url = options.url;
    this.#statements = new ClickhouseHttp(options, statementConnections);
    this.#streams = new ClickhouseHttp(options, streamConnections);
    this.#probes = new ClickhouseHttp(options, 1);
    const common = { queueLimit, full };
    this.#statementSlots = new FairShare({ capacity: statementConnections - readConnections, ...common });
    this.#readSlots = new FairShare({
      capacity: readConnections,
      share: accountShare,
      reserve: 1,
      ...common,
    });
    this.#streamSlots = createStreamSlots({ limit: streamConnections, queueLimit, limits: options.reads });
  }

  /** Runs a statement to its end. Returns the bytes of its result. Throws as described at `Database`. */
  async run(statement: Statement, { signal, caller }: Cancellation, permit?: WritePermit): Promise<Buffer> {
    const queryId = randomUUID();
    let sent = false;
    try {
      const { account } = statement;
      const slots = account === undefined ? this.#statementSlots : this.#readSlots;
      const release = await slots.take(signal, account);
      try {
        permit?.check();
        sent = true;
        return await runOn(this.#statements, queryId, statement, signal);
      } finally {
        release();
      }
    } catch (error) {
      if (sent && statement.account !== undefined && signal.aborted) this.#kill(queryId);
      caller?.throwIfAborted();
      if (!sent) throw error instanceof ApiError ? error : databaseUnavailable(error);
      throw await this.#settled(queryId, statementFailure(signal.aborted ? signal.reason : error, statement));
    }
  }

  /**
   * The chunks of a result. Rejects when the statement fails before the first chunk, or before `args.ahead` bytes.
   * @param args.timeout milliseconds between chunks
   */
  async stream(
    statement: Statement,
    { signal, caller }: Cancellation,
    args: { readonly timeout: number; readonly ahead: number },
  ): Promise<AsyncIterable<Uint8Array>> {
    const queryId = randomUUID();
    let release = (): void => {};
    let sent = false;
    try {
      const place = await this.#streamSlots.take(signal, statement.account);
      release = place.release;
      place.awaitsSource = true;
      sent = true;
      return await whileWanted(signal, async (attempt) => {
        const answer = await this.#streams.send(queryId, statement, attempt);
        return paced(place, await readAnswer(answer, { ...args, release, signal: caller }));
      });
    } catch (error) {
      release();
      const ended = statement.account !== undefined && signal.aborted;
      // a slow read says nothing about the server, if it is still running there
      const late = ended && !caller?.aborted && !(signal.reason instanceof ServerSilent);
      const worked = late && sent && (await this.#worksOn(queryId));
      if (ended) this.#kill(queryId);
      caller?.throwIfAborted();
      if (worked) throw deadlineExceeded(args.timeout, new Error(timeoutExceeded));
      if (late && !sent) throw deadlineExceeded(args.timeout);
      throw statementFailure(signal.aborted ? signal.reason : error, statement);
    }
  }

  /** Runs a trivial query on a separate connection. Rejects if the server does not respond. */
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
    this.#streamSlots.close(new Error('the database is closed'));
    this.#probes.close();
    this.#statements.close();
    this.#streams.close();
  }

  /** Delays an UnknownOutcome until the statement is over, so that the caller can look up its effect. */
  async #settled(queryId: string, failure: Error): Promise<Error> {
    if (!(failure instanceof UnknownOutcome) || failure.cause instanceof ServerSilent) return failure;
    const until = performance.now() + overLimit;
    try {
      while (performance.now() < until && (await this.#isRunning(queryId))) {
        await new Promise((resolve) => setTimeout(resolve, overInterval));
      }
    } catch {
      // no answer, or no right to list statements: the caller looks up the outcome anyway
    }
    return failure;
  }

  /** Whether the server is still running a read. */
  async #worksOn(queryId: string): Promise<boolean> {
    try {
      return await this.#isRunning(queryId, { on: this.#probes, limit: worksLimit });
    } catch (error) {
      // no right to list statements, but the server responds
      const reason = error instanceof ApiError ? error.cause : error;
      return reason instanceof StatementError;
    }
  }

  async #isRunning(
    queryId: string,
    { on, limit }: { readonly on: ClickhouseHttp; readonly limit: number } = {
      on: this.#statements,
      limit: overLimit,
    },
  ): Promise<boolean> {
    const sql = `SELECT 1 FROM system.processes WHERE query_id = ${textLiteral(queryId)}\nFORMAT JSONEachRow`;
    return (await ask(on, sql, AbortSignal.timeout(limit))).byteLength > 0;
  }

  /** Ends an abandoned read. */
  #kill(queryId: string): void {
    const sql = `KILL QUERY WHERE query_id = ${textLiteral(queryId)} ASYNC`;
    // the user may lack the right; the time limit ends the read at the latest
    ask(this.#statements, sql, AbortSignal.timeout(overLimit)).catch(() => {});
  }
}

/** Runs a small statement of this module. */
function ask(http: ClickhouseHttp, body: string, signal: AbortSignal): Promise<Buffer> {
  return runOn(http, randomUUID(), { body, settings: { wait_end_of_query: 1 }, writes: false }, signal);
}

function runOn(
  http: ClickhouseHttp,
  queryId: string,
  statement: Statement,
  signal: AbortSignal,
): Promise<Buffer> {
  return whileWanted(signal, async (attempt) => readWhole(await http.send(queryId, statement, attempt)));
}
