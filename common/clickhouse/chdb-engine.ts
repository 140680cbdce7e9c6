import type { ChdbQueryStream, Session } from 'chdb';
import { untilAborted } from '../abort/until-aborted.ts';
import type { ReadLimits } from '../config/read-limits.ts';
import { deadlineExceeded } from '../errors/catalogue.ts';
import { Semaphore } from '../limits/semaphore.ts';
import { SessionPool, type SessionTurn } from './chdb-sessions.ts';
import { readStream, type StreamEnds } from './chdb-stream.ts';
import type { ReadStatement } from './database.ts';
import { engineSettings, streamSettings } from './engine-settings.ts';
import { textLiteral } from './literal.ts';
import { StreamTurns } from './stream-turns.ts';
import type { WritePermit } from './write-permit.ts';

/**
 * The engine computes on libuv's threads, of which `npm start` asks for 16: as many as these together, and those that
 * hash. So no statement of the service itself waits for a thread behind what clients read.
 */
const ownSessions = 4;
const readSessions = 4;
const computedStreams = 4;
/** Of the last two, what one account may have while it computes. */
const accountShare = 2;
/** Streams that readers hold open; most of them wait for their readers. */
const streamSessions = 16;
const queueLimit = 10_000;

/** Who waits for a statement, and what it needs to begin. */
type Caller = Pick<ReadStatement, 'signal' | 'account'> & { readonly permit?: WritePermit | undefined };

/**
 * The engine's sessions, and who gets one: statements of the service, reads of clients, and streams have their own, so
 * that none of them waits for another kind.
 */
export class ChdbEngine {
  readonly #chdb: typeof import('chdb');
  readonly #limits: ReadLimits;
  readonly #own: SessionPool;
  readonly #reading: SessionPool;
  readonly #streaming: SessionPool;
  readonly #streamTurns: StreamTurns;
  readonly #computing: Semaphore;

  constructor(chdb: typeof import('chdb'), path: string, limits: ReadLimits) {
    this.#chdb = chdb;
    this.#limits = limits;
    const opener = (settings: Settings) => (name: string) => openSession(chdb, path, settings, name);
    const timed = { ...engineSettings, max_execution_time: limits.timeout / 1000 };
    const streamed = { ...engineSettings, ...streamSettings };
    const common = { accountLimit: accountShare, queueLimit };
    this.#own = new SessionPool({
      name: 'own',
      open: opener(engineSettings),
      limit: ownSessions,
      queueLimit,
    });
    this.#reading = new SessionPool({ name: 'read', open: opener(timed), limit: readSessions, ...common });
    this.#streaming = new SessionPool({
      ...{ name: 'stream', open: opener(streamed), limit: streamSessions, queueLimit },
    });
    this.#streamTurns = new StreamTurns({ limit: streamSessions, queueLimit, limits });
    this.#computing = new Semaphore({ limit: computedStreams, ...common, full: 'too many reads wait' });
    this.#own.warm();
  }

  /** Runs on a session that nobody else gets before the engine is done, even when the caller stops waiting. */
  async run<Result>(
    { signal, account, permit }: Caller,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> {
    const turn = await (account === undefined
      ? this.#own.acquire(signal)
      : this.#reading.acquire(signal, account));
    try {
      permit?.check();
    } catch (error) {
      turn.release();
      throw error;
    }
    let killed: Promise<void> | null = null;
    const onAbort = (): void => {
      killed = this.#kill(turn).catch(() => {});
    };
    // what writes is never ended half-way: nobody would know what it did
    if (account !== undefined) signal?.addEventListener('abort', onAbort, { once: true });
    const result = work(turn.session).finally(async () => {
      signal?.removeEventListener('abort', onAbort);
      // else it would hit the session's next statement
      await killed;
    });
    const settled = result.then(
      (value) => {
        turn.release();
        return value;
      },
      (error: unknown) => {
        turn.replace();
        throw account !== undefined && tookTooLong(error) ? deadlineExceeded(this.#limits.timeout) : error;
      },
    );
    return signal === undefined ? settled : untilAborted(settled, signal);
  }

  async stream(statement: ReadStatement & { readonly format: string }): Promise<AsyncIterable<Uint8Array>> {
    const place = await this.#streamTurns.take(statement.signal, statement.account);
    try {
      return place.paced(await this.#stream(statement, place.release));
    } catch (error) {
      place.release();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#streamTurns.close();
    for (const pool of [this.#own, this.#reading, this.#streaming]) pool.close();
    await this.#chdb.drainPending();
  }

  /** @param release gives the place of the stream back */
  async #stream(
    { sql, format, signal, account }: ReadStatement & { readonly format: string },
    release: () => void,
  ): Promise<AsyncIterable<Uint8Array>> {
    const { timeout } = this.#limits;
    const turn = await this.#streaming.acquire(signal);
    let killed: Promise<void> | null = null;
    const kill = (): void => {
      killed ??= this.#kill(turn).catch(() => {});
    };
    const chunks = begunStream(turn, sql, format);
    const ends: StreamEnds = {
      compute: (work) =>
        account === undefined
          ? work()
          : this.#computing.run(() => withinTime(work, timeout, kill), undefined, account),
      kill,
      release: (failed) =>
        void Promise.resolve(killed).then(() => {
          if (failed) turn.replace();
          else turn.release();
          release();
        }),
    };
    return readStream(chunks, ends, signal);
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

type Settings = Readonly<Record<string, string | number>>;

/** A session whose statement can't even begin is given back at once: nobody reads it to its end. */
function begunStream({ session, replace }: SessionTurn, sql: string, format: string): ChdbQueryStream {
  try {
    return session.queryStream(sql, { format });
  } catch (error) {
    replace();
    throw error;
  }
}

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
  throw deadlineExceeded(limit);
}

export function tookTooLong(error: unknown): boolean {
  return error instanceof Error && error.message.includes('TIMEOUT_EXCEEDED');
}

function openSession(chdb: typeof import('chdb'), path: string, settings: Settings, name: string): Session {
  const session = newSession(chdb, path);
  for (const [key, value] of Object.entries({ ...settings, log_comment: name })) {
    session.query(`SET ${key} = ${typeof value === 'number' ? value : textLiteral(value)}`);
  }
  return session;
}

function newSession(chdb: typeof import('chdb'), path: string): Session {
  try {
    return new chdb.Session(path);
  } catch (cause) {
    const reason = (cause as Error).message.split('\n')[0];
    throw new Error(
      `the data directory ${path} can't be opened: another process may have it open, or its files are not this user's (${reason})`,
      { cause },
    );
  }
}
