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

/** How a statement may end from outside. */
export interface Cancellation {
  /** Ends the attempt: the caller's signal, the deadline, or that the server is given up. */
  readonly signal: AbortSignal;
  /** The caller's signal alone: its own reason is thrown, and nobody waits for the outcome. */
  readonly caller: AbortSignal | undefined;
  /** Aborts the signal. */
  readonly stop?: (reason: unknown) => void;
}

/** Connections for statements, and apart from them for streams, which slow readers hold for long. */
const statementConnections = 32;
/** Statement connections that reads of clients may take, and those of one account among them. */
const readConnections = 16;
const accountShare = 8;
const streamConnections = 64;
const queueLimit = 10_000;
const full = 'too many statements wait';
/** The engine's name for a time-out, for reads that are ended here. */
const timeoutExceeded = 'TIMEOUT_EXCEEDED';

/** How long a statement with an unknown outcome is waited for, and the pause between two checks. Milliseconds. */
const overLimit = 10_000;
const overInterval = 50;
/** How long a server may take to say that it works on a read. */
const worksLimit = 2000;

/** One server, over its HTTP interface. Nothing is asked of it before the first statement. */
export class ClickhouseServer {
  readonly url: string;
  readonly #statements: ClickhouseHttp;
  readonly #streams: ClickhouseHttp;
  /** The others may all be held by statements that take long. */
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
      ...{ capacity: readConnections, share: accountShare, reserve: 1 },
      ...common,
    });
    this.#streamSlots = createStreamSlots({ limit: streamConnections, queueLimit, limits: options.reads });
  }

  /** Runs a statement to its end. Answers the bytes of its result. Throws as `Database` says. */
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
   * The chunks of a result. Rejects when the statement fails before the first, or before `args.ahead` bytes.
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
      // a read that takes long says nothing of the server, if it works on it
      const late = ended && !caller?.aborted && !(signal.reason instanceof ServerSilent);
      const worked = late && sent && (await this.#worksOn(queryId));
      if (ended) this.#kill(queryId);
      caller?.throwIfAborted();
      if (worked) throw deadlineExceeded(args.timeout, new Error(timeoutExceeded));
      if (late && !sent) throw deadlineExceeded(args.timeout);
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
    this.#streamSlots.close(new Error('the database is closed'));
    this.#probes.close();
    this.#statements.close();
    this.#streams.close();
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

  /** Whether the server is seen to work on a read. */
  async #worksOn(queryId: string): Promise<boolean> {
    try {
      return await this.#isRunning(queryId, { on: this.#probes, limit: worksLimit });
    } catch (error) {
      // no right to list statements: it answers
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

  /** Ends a read that nobody waits for any more. */
  #kill(queryId: string): void {
    const sql = `KILL QUERY WHERE query_id = ${textLiteral(queryId)} ASYNC`;
    // a user may lack the right, and the server ends it by its limit of time at the latest
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
