import type { ChdbResult, Session } from 'chdb';
import type { ReadLimits } from '#kernel/config/settings.ts';
import { deadlineExceeded } from '#kernel/errors/catalogue.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import { SessionPool, type SessionTurn } from './chdb-sessions.ts';
import { readStream, type StreamEnds } from './chdb-stream.ts';
import type { ReadStatement, StreamStatement } from './database.ts';
import { engineArguments } from './engine-arguments.ts';
import { engineSettings, streamSettings, wholeResult } from './engine-settings.ts';
import { settingsText, textLiteral } from './literal.ts';
import { mostReads, ReadPlaces } from './read-places.ts';
import { type InsertedRows, isFileFormat, isTooLarge, ResultFiles } from './result-file.ts';
import { createStreamSlots, paced } from './stream-slots.ts';
import type { WritePermit } from './write-permit.ts';

/**
 * The engine computes on libuv's threads. `npm start` sets 16 of them: enough for all of these, up to four hashes, and four
 * for files. So neither a statement of the service itself nor a file waits for clients' reads.
 */
const ownSessions = 4;
/** Most open streams; most of them wait for their readers. */
const streamSessions = 16;
/** A result that is written to a file first has this multiple of the deadline for a stream's first bytes. */
const fileTime = 6;
const queueLimit = 10_000;

/** The caller of a statement, with its permit. */
type Caller = Pick<ReadStatement, 'signal' | 'account'> & { readonly permit?: WritePermit | undefined };

/**
 * Pools of the engine's sessions. Statements of the service, clients' reads and streams each have their own pool, so that
 * no kind waits for another.
 */
export class ChdbEngine {
  readonly #chdb: typeof import('chdb');
  readonly #limits: ReadLimits;
  readonly #own: SessionPool;
  readonly #reading: SessionPool;
  readonly #streaming: SessionPool;
  readonly #streamSlots: ReaderSlots;
  readonly #computing = new ReadPlaces();
  readonly #files: ResultFiles;

  constructor(chdb: typeof import('chdb'), path: string, limits: ReadLimits) {
    this.#chdb = chdb;
    this.#limits = limits;
    this.#files = new ResultFiles(`${path}-results`);
    const opener = (settings: Settings) => (name: string) => openSession(chdb, path, settings, name);
    const timed = { ...engineSettings, max_execution_time: limits.timeout / 1000 };
    const streamed = { ...engineSettings, ...streamSettings };
    const pool = (name: string, settings: Settings, capacity: number) =>
      new SessionPool({ name, open: opener(settings), capacity, queueLimit });
    this.#own = pool('own', engineSettings, ownSessions);
    this.#reading = pool('read', timed, mostReads);
    this.#streaming = pool('stream', streamed, streamSessions);
    this.#streamSlots = createStreamSlots({ limit: streamSessions, queueLimit, limits });
    this.#own.warm();
  }

  /** Runs on a session that stays taken until the engine is done, even if the caller stops waiting. */
  async run<Result>(
    { signal, permit }: Omit<Caller, 'account'>,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    const turn = await this.#own.acquire(signal);
    try {
      permit?.check();
    } catch (error) {
      turn.release();
      throw error;
    }
    const settled = this.#runOn(turn, { signal }, work);
    return signal === undefined ? settled : untilAborted(settled, signal);
  }

  /** The result of a small SELECT. */
  async read({ sql, signal, account }: ReadStatement, format: string): Promise<ChdbResult> {
    const query = (session: Session) => session.queryAsync(sql, { format });
    if (account === undefined) return this.run({ signal }, query);
    const run = async () => this.#runOn(await this.#reading.acquire(signal), { signal, account }, query);
    const settled = this.#computing.run(run, signal, account);
    return signal === undefined ? settled : untilAborted(settled, signal);
  }

  /** Settles when the engine is done: soon after an abort. */
  async #runOn<Result>(
    turn: SessionTurn,
    { signal, account }: Caller,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    let killed: Promise<void> | null = null;
    const onAbort = (): void => {
      killed = this.#kill(turn).catch(() => {});
    };
    // a write is never interrupted: its outcome would be unknown
    if (account !== undefined) signal?.addEventListener('abort', onAbort, { once: true });
    const result = work(turn.session).finally(async () => {
      signal?.removeEventListener('abort', onAbort);
      // otherwise it would hit the session's next statement
      await killed;
    });
    return result.then(
      (value) => {
        turn.release();
        return value;
      },
      async (error: unknown) => {
        await turn.replace();
        throw account !== undefined && tookTooLong(error)
          ? deadlineExceeded(this.#limits.timeout, error)
          : error;
      },
    );
  }

  async stream(statement: StreamStatement): Promise<AsyncIterable<Uint8Array>> {
    const place = await this.#streamSlots.take(statement.signal, statement.account);
    place.awaitsSource = true;
    try {
      if (isFileFormat(statement.format)) return paced(place, await this.#inFile(statement, place.release));
      const whole = statement.fewRows === true ? await this.#whole(statement) : null;
      if (whole !== null) {
        place.release();
        return oneChunk(whole);
      }
      return paced(place, await this.#stream(statement, place.release));
    } catch (error) {
      place.release();
      throw error;
    }
  }

  /** Stores rows of RowBinary as one block. The engine reads them from a file, because it only accepts text as input. */
  async insertFile(rows: InsertedRows, signal: AbortSignal | undefined): Promise<void> {
    await this.#files.insert(rows, (sql) => this.run({ signal }, (session) => session.queryAsync(sql)));
  }

  async close(): Promise<void> {
    this.#computing.close();
    this.#streamSlots.close(new Error('the database is closed'));
    for (const pool of [this.#own, this.#reading, this.#streaming]) pool.close();
    await this.#chdb.drainPending();
  }

  /**
   * All bytes of a result; null: too many, and nothing was read. The engine plans a stream on the calling thread, which is
   * the event loop, but plans this on another thread.
   */
  async #whole({ sql, ...rest }: StreamStatement): Promise<Uint8Array | null> {
    const { timeout = this.#limits.timeout } = rest;
    const result = this.#computed(sql, { ...rest, timeout }, wholeResult);
    try {
      return (await (rest.signal === undefined ? result : untilAborted(result, rest.signal))).bytes();
    } catch (error) {
      if (isTooLarge(error)) return null;
      throw error;
    }
  }

  /** Runs a statement to its end on a session for streams. Settles when the engine is done. @param limits of the result */
  #computed(
    sql: string,
    {
      settings = '',
      format,
      signal,
      account,
      timeout,
    }: Omit<StreamStatement, 'sql'> & { readonly timeout: number },
    limits: string,
  ): Promise<ChdbResult> {
    const run = async () => {
      const bounds = `max_execution_time = ${timeout / 1000}, ${limits}`;
      const statement = `${sql} SETTINGS ${bounds}${settings && `, ${settings}`}`;
      const turn = await this.#streaming.acquire(signal);
      return this.#runOn(turn, { signal, account }, (session) => session.queryAsync(statement, { format }));
    };
    return account === undefined ? run() : this.#computing.run(run, signal, account);
  }

  /** @param release frees the place of the stream */
  #inFile(statement: StreamStatement, release: () => void): Promise<AsyncIterable<Uint8Array>> {
    const timeout = (statement.timeout ?? this.#limits.timeout) * fileTime;
    const run = (sql: string, limits: string) => this.#computed(sql, { ...statement, timeout }, limits);
    return this.#files.read(statement, run, release);
  }

  /** @param release frees the place of the stream */
  async #stream(
    { sql, settings = '', format, signal, account, timeout = this.#limits.timeout }: StreamStatement,
    release: () => void,
  ): Promise<AsyncIterable<Uint8Array>> {
    const turn = await this.#streaming.acquire(signal);
    let killed: Promise<void> | null = null;
    const kill = (): void => {
      killed ??= this.#kill(turn).catch(() => {});
    };
    const ends: StreamEnds = {
      compute: (work) =>
        account === undefined
          ? work()
          : this.#computing.run(() => withinTime(work, timeout, kill), undefined, account),
      kill,
      release: (failed) =>
        void Promise.resolve(killed).then(async () => {
          if (failed) await turn.replace();
          else turn.release();
          release();
        }),
    };
    const statement = `${sql}${settings && ` SETTINGS ${settings}`}`;
    return readStream(() => turn.session.queryStream(statement, { format }), ends, signal);
  }

  /** Ends the statement that runs on a session. */
  async #kill({ name }: SessionTurn): Promise<void> {
    const turn = await this.#own.acquire(undefined);
    const sql = `KILL QUERY WHERE Settings['log_comment'] = ${textLiteral(name)} ASYNC`;
    await turn.session.queryAsync(sql).then(
      () => turn.release(),
      () => turn.replace(),
    );
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.byteLength > 0) yield bytes;
}

type Settings = Readonly<Record<string, string | number>>;

async function withinTime<Result>(
  work: () => Promise<Result>,
  limit: number,
  kill: () => void,
): Promise<Result> {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    kill();
  }, limit);
  try {
    const result = await work();
    if (!late) return result;
  } catch (error) {
    if (!late) throw error;
  } finally {
    clearTimeout(timer);
  }
  throw deadlineExceeded(limit, new Error(timeoutExceeded));
}

/** The engine's name for the error. */
const timeoutExceeded = 'TIMEOUT_EXCEEDED';

export function tookTooLong(error: unknown): boolean {
  return error instanceof Error && error.message.includes(timeoutExceeded);
}

function openSession(chdb: typeof import('chdb'), path: string, settings: Settings, name: string): Session {
  const session = newSession(chdb, path);
  // a single statement, because opening or replacing a session blocks the event loop
  session.query(`SET ${settingsText({ ...settings, log_comment: name })}`);
  return session;
}

function newSession(chdb: typeof import('chdb'), path: string): Session {
  try {
    return new chdb.Session(path, { connectionArgs: engineArguments() });
  } catch (cause) {
    const reason = (cause as Error).message.split('\n')[0];
    throw new Error(
      `the data directory ${path} can't be opened: another process may have it open, or its files are not this user's (${reason})`,
      { cause },
    );
  }
}
