import type { ChdbQueryStream, Session } from 'chdb';
import { untilAborted } from '../abort/until-aborted.ts';
import { type ReadLimits, readLimitDefaults } from '../config/read-limits.ts';
import { deadlineExceeded } from '../errors/catalogue.ts';
import { Semaphore } from '../limits/semaphore.ts';
import { insertBlock } from './chdb-insert.ts';
import { loadChdb, SessionPool, type SessionTurn } from './chdb-sessions.ts';
import { readStream, type StreamEnds } from './chdb-stream.ts';
import type { Database, ReadStatement } from './database.ts';
import { isDirectoryLocked } from './directory-lock.ts';
import { engineSettings, streamSettings } from './engine-settings.ts';
import { textLiteral } from './literal.ts';
import { StreamTurns } from './stream-turns.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

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

/**
 * ClickHouse in this process, on one directory that no other process may have open.
 * Throws an Error with one clear sentence when the directory is in use or can't be opened.
 */
export function openChdb({ path, reads = {} }: { path: string; reads?: Partial<ReadLimits> }): Database {
  const chdb = loadChdb();
  if (isDirectoryLocked(path)) {
    throw new Error(
      `the data directory ${path} is in use by another process, and the embedded database serves one: stop that process, ` +
        'or set CLICKHOUSE_URL for both to share a ClickHouse server',
    );
  }
  const limits = { ...readLimitDefaults, ...reads };
  const open =
    (settings: Readonly<Record<string, string | number>>) =>
    (name: string): Session => {
      const session = openSession(chdb, path);
      for (const [key, value] of Object.entries({ ...settings, log_comment: name })) {
        session.query(`SET ${key} = ${typeof value === 'number' ? value : textLiteral(value)}`);
      }
      return session;
    };
  const own = new SessionPool({ name: 'own', open: open(engineSettings), limit: ownSessions, queueLimit });
  const reading = new SessionPool({
    name: 'read',
    open: open({ ...engineSettings, max_execution_time: limits.timeout / 1000 }),
    limit: readSessions,
    accountLimit: accountShare,
    queueLimit,
  });
  const streaming = new SessionPool({
    name: 'stream',
    open: open({ ...engineSettings, ...streamSettings }),
    limit: streamSessions,
    queueLimit,
  });
  const streamTurns = new StreamTurns({ limit: streamSessions, queueLimit, limits });
  const computing = new Semaphore({
    limit: computedStreams,
    accountLimit: accountShare,
    queueLimit,
    full: 'too many reads wait',
  });
  own.warm();

  /** Ends the statement that runs on a session. */
  const kill = async ({ name }: SessionTurn): Promise<void> => {
    const turn = await own.acquire(undefined);
    const sql = `KILL QUERY WHERE Settings['log_comment'] = ${textLiteral(name)} ASYNC`;
    await turn.session.queryAsync(sql).then(
      () => turn.release(),
      () => turn.replace(),
    );
  };

  /** Runs on a session that nobody else gets before the engine is done, even when the caller stops waiting. */
  const run = async <Result>(
    {
      signal,
      account,
      permit,
    }: Pick<ReadStatement, 'signal' | 'account'> & { permit?: WritePermit | undefined },
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> => {
    const turn = await (account === undefined ? own.acquire(signal) : reading.acquire(signal, account));
    try {
      permit?.check();
    } catch (error) {
      turn.release();
      throw error;
    }
    let killed: Promise<void> | null = null;
    const onAbort = (): void => {
      killed = kill(turn).catch(() => {});
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
        throw account !== undefined && tookTooLong(error) ? deadlineExceeded(limits.timeout) : error;
      },
    );
    return signal === undefined ? settled : untilAborted(settled, signal);
  };

  /** @param release gives the place of the stream back */
  const stream = async (
    { sql, format, signal, account }: ReadStatement & { readonly format: string },
    release: () => void,
  ): Promise<AsyncIterable<Uint8Array>> => {
    const turn = await streaming.acquire(signal);
    let killed: Promise<void> | null = null;
    const killOnce = (): void => {
      killed ??= kill(turn).catch(() => {});
    };
    const chunks = begunStream(turn, sql, format);
    const ends: StreamEnds = {
      compute: (work) =>
        account === undefined
          ? work()
          : computing.run(() => withinTime(work, limits.timeout, killOnce), undefined, account),
      kill: killOnce,
      release: (failed) =>
        void Promise.resolve(killed).then(() => {
          if (failed) turn.replace();
          else turn.release();
          release();
        }),
    };
    return readStream(chunks, ends, signal);
  };

  return {
    cluster: undefined,
    servers: 1,
    async command({ sql, signal, permit }) {
      // https://clickhouse.com/docs/operations/settings/settings#max_execution_time, in seconds
      const limit = permit === undefined ? '' : ` SETTINGS max_execution_time = ${permit.timeLimit / 1000}`;
      const statement = sql + limit;
      await underLimit(permit, () => run({ signal, permit }, (session) => session.queryAsync(statement)));
    },
    async rows<Row>({ sql, signal, account }: ReadStatement) {
      const query = (session: Session) => session.queryAsync(sql, { format: 'JSONEachRow' });
      const text = (await run({ signal, account }, query)).text().trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    async stream(statement) {
      const place = await streamTurns.take(statement.signal, statement.account);
      try {
        return place.paced(await stream(statement, place.release));
      } catch (error) {
        place.release();
        throw error;
      }
    },
    async insert({ signal, permit, ...rows }) {
      const insert = (session: Session) => insertBlock(session, rows, permit);
      await underLimit(permit, () => run({ signal, permit }, insert));
    },
    async ready(signal) {
      await run({ signal }, (session) => session.queryAsync('SELECT 1'));
    },
    async close() {
      streamTurns.close();
      for (const pool of [own, reading, streaming]) pool.close();
      await chdb.drainPending();
    },
  };
}

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

async function underLimit<Result>(
  permit: WritePermit | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw permit !== undefined && tookTooLong(error) ? new StatementTimeout(permit.timeLimit, error) : error;
  }
}

function tookTooLong(error: unknown): boolean {
  return error instanceof Error && error.message.includes('TIMEOUT_EXCEEDED');
}

function openSession(chdb: typeof import('chdb'), path: string): Session {
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
