import type { ChdbQueryStream, Session } from 'chdb';
import { untilAborted } from '../abort/until-aborted.ts';
import { loadChdb, SessionPool } from './chdb-sessions.ts';
import type { Database, ReadStatement } from './database.ts';
import { isDirectoryLocked } from './directory-lock.ts';
import { engineSettings, streamSettings, wholeBlockSettings } from './engine-settings.ts';
import { insertTarget } from './insert-target.ts';
import { textLiteral } from './literal.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

/** Sessions that run statements; the engine computes on libuv's threads, of which `npm start` asks for 16. */
const statementSessions = 8;
/** Streams that readers hold open; a paused one costs up to about 20 MB. */
const streamSessions = 16;
const queueLimit = 10_000;

/**
 * ClickHouse in this process, on one directory that no other process may have open.
 * Throws an Error with one clear sentence when the directory is in use or can't be opened.
 */
export function openChdb(args: { path: string }): Database {
  const chdb = loadChdb();
  if (isDirectoryLocked(args.path)) {
    throw new Error(`the data directory ${args.path} is in use by another process`);
  }
  const open = (settings: Readonly<Record<string, string | number>>): Session => {
    const session = openSession(chdb, args.path);
    for (const [name, value] of Object.entries(settings)) {
      session.query(`SET ${name} = ${typeof value === 'number' ? value : `'${value}'`}`);
    }
    return session;
  };
  const statements = new SessionPool({
    open: () => open(engineSettings),
    limit: statementSessions,
    queueLimit,
  });
  const streams = new SessionPool({
    open: () => open({ ...engineSettings, ...streamSettings }),
    limit: streamSessions,
    queueLimit,
  });
  statements.warm();

  /** Runs on a session that nobody else gets before the engine is done, even when the caller stops waiting. */
  const run = async <Result>(
    signal: AbortSignal | undefined,
    work: (session: Session) => Promise<Result>,
    permit?: WritePermit,
  ): Promise<Result> => {
    const session = await statements.acquire(signal);
    try {
      permit?.check();
    } catch (error) {
      statements.release(session);
      throw error;
    }
    const result = work(session).then(
      (value) => {
        statements.release(session);
        return value;
      },
      (error: unknown) => {
        statements.replace(session);
        throw error;
      },
    );
    return signal === undefined ? result : untilAborted(result, signal);
  };

  return {
    cluster: undefined,
    servers: 1,
    async command({ sql, signal, permit }) {
      const limit = timeLimitSetting(permit);
      const statement = limit.length === 0 ? sql : `${sql} SETTINGS ${limit.join()}`;
      await underLimit(permit, () => run(signal, (session) => session.queryAsync(statement), permit));
    },
    async rows<Row>({ sql, signal }: ReadStatement) {
      const result = await run(signal, (session) => session.queryAsync(sql, { format: 'JSONEachRow' }));
      const text = result.text().trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    async stream({ sql, format, signal }) {
      const session = await streams.acquire(signal);
      return readStream(session.queryStream(sql, { format }), () => streams.release(session), signal);
    },
    async insert({ table, columns, lines, signal, permit, token }) {
      const settings = Object.entries(wholeBlockSettings).map(([name, value]) => `${name} = ${value}`);
      settings.push(...timeLimitSetting(permit), ...tokenSetting(token));
      const { into, format } = insertTarget(table, columns);
      const sql = `${into} SETTINGS ${settings.join(', ')} FORMAT ${format}\n`;
      const query = (session: Session) => session.queryAsync(sql + Buffer.from(lines).toString('utf8'));
      await underLimit(permit, () => run(signal, query, permit));
    },
    async ready(signal) {
      await run(signal, (session) => session.queryAsync('SELECT 1'));
    },
    async close() {
      statements.close();
      streams.close();
      await chdb.drainPending();
    },
  };
}

function tokenSetting(token: string | undefined): readonly string[] {
  if (token === undefined) return ['insert_deduplicate = 0'];
  return ['insert_deduplicate = 1', `insert_deduplication_token = ${textLiteral(token)}`];
}

/** https://clickhouse.com/docs/operations/settings/settings#max_execution_time, in seconds */
function timeLimitSetting(permit: WritePermit | undefined): readonly string[] {
  return permit === undefined ? [] : [`max_execution_time = ${permit.timeLimit / 1000}`];
}

async function underLimit<Result>(
  permit: WritePermit | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const timedOut = error instanceof Error && error.message.includes('TIMEOUT_EXCEEDED');
    throw permit !== undefined && timedOut ? new StatementTimeout(permit.timeLimit, error) : error;
  }
}

function openSession(chdb: typeof import('chdb'), path: string): Session {
  try {
    return new chdb.Session(path);
  } catch (cause) {
    throw new Error(`the data directory ${path} can't be opened; another process may have it open`, {
      cause,
    });
  }
}

/**
 * Awaits the first chunk, so that a failing statement rejects here; then hands out chunks while the next one is
 * being made. The session is free again as soon as the engine has no more, however slow the reader is.
 */
async function readStream(
  stream: ChdbQueryStream,
  release: () => void,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const iterator = stream[Symbol.asyncIterator]();
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    stream.cancel();
    release();
  };
  const pull = async (): Promise<Uint8Array | null> => {
    if (ended) return null;
    try {
      const next = await iterator.next();
      if (next.done !== true) return next.value.raw();
    } catch (error) {
      end();
      throw error;
    }
    end();
    return null;
  };
  /** Begins the next chunk; a failure waits for the reader without counting as unhandled. */
  const prefetch = (): Promise<Uint8Array | null> => {
    const chunk = pull();
    chunk.catch(() => {});
    return chunk;
  };
  const begun = prefetch();
  if (signal !== undefined) {
    await untilAborted(begun, signal).catch((error: unknown) => {
      // the session is free when the engine has made the chunk
      void begun.catch(() => null).then(end);
      throw error;
    });
  }
  let upcoming = Promise.resolve(await begun);
  // a reader that has not begun never runs to its end, but its request is aborted
  const onAbort = (): void => {
    void upcoming.catch(() => null).then(end);
  };
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        signal?.throwIfAborted();
        const value = await upcoming;
        if (value === null) return { done: true, value: undefined };
        upcoming = prefetch();
        return { done: false, value };
      },
      async return() {
        // the engine may still be making a chunk: only then is the session free
        await upcoming.catch(() => null);
        end();
        signal?.removeEventListener('abort', onAbort);
        return { done: true, value: undefined };
      },
    }),
  };
}
