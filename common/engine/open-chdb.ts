import { statfs } from 'node:fs/promises';
import type { Session } from 'chdb';
import { type ReadLimits, readLimitDefaults } from '#kernel/config/settings.ts';
import { storageFull } from '#kernel/errors/catalogue.ts';
import { ChdbEngine, tookTooLong } from './chdb-engine.ts';
import { loadChdb } from './chdb-sessions.ts';
import type { Database, InsertStatement, ReadStatement } from './database.ts';
import { isDirectoryLocked } from './directory-lock.ts';
import { wholeBlockSettings } from './engine-settings.ts';
import { insertTarget } from './insert-target.ts';
import { settingsText } from './literal.ts';
import { oneStore } from './store-list.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

/** The engine writes no new part with less free disk space. Bytes. */
const leastRoom = 1024 * 1024;

/**
 * From this many bytes on, rows are passed to the engine as a buffer. As text of a statement they are copied on the event
 * loop: 18 MB take 10 to 500 ms, depending on how much is not ASCII. A few rows cost less as text.
 */
const rawBytes = 64 * 1024;

/**
 * ClickHouse in this process, on a directory that no other process may have open. Throws an Error with one clear sentence
 * if the directory is in use or can't be opened.
 */
export function openChdb({ path, reads = {} }: { path: string; reads?: Partial<ReadLimits> }): Database {
  const chdb = loadChdb();
  if (isDirectoryLocked(path)) {
    throw new Error(
      `the data directory ${path} is in use by another process, and the embedded database serves only one: stop that process, ` +
        'or set CLICKHOUSE_URL for both to share a ClickHouse server',
    );
  }
  const engine = new ChdbEngine(chdb, path, { ...readLimitDefaults, ...reads });
  return {
    replicated: false,
    servers: 1,
    stores: oneStore('embedded'),
    async command({ sql, signal, permit }) {
      // https://clickhouse.com/docs/operations/settings/settings#max_execution_time, in seconds
      const limit = permit === undefined ? '' : ` SETTINGS max_execution_time = ${permit.timeLimit / 1000}`;
      const statement = sql + limit;
      await underLimit(permit, () =>
        engine.run({ signal, permit }, (session) => session.queryAsync(statement)),
      );
    },
    async rows<Row>(statement: ReadStatement) {
      const text = (await engine.read(statement, 'JSONEachRow')).text().trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    stream: (statement) => engine.stream(statement),
    async insert({ signal, permit, ...rows }) {
      const { columns = [], types, lines, table } = rows;
      if (types !== undefined) {
        await engine.insertFile({ table, columns, types, rows: lines }, signal);
        return;
      }
      const insert = (session: Session) => insertBlock(session, rows, permit);
      await underLimit(permit, () => engine.run({ signal, permit }, insert));
    },
    async ready(signal) {
      await engine.run({ signal }, (session) => session.queryAsync('SELECT 1'));
      const { bavail, bsize } = await statfs(path);
      if (bavail * bsize < leastRoom) throw storageFull();
    },
    close: () => engine.close(),
  };
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

/** Stores rows as one block. */
async function insertBlock(
  session: Session,
  { table, columns, lines, token }: Omit<InsertStatement, 'signal' | 'permit' | 'home'>,
  permit: WritePermit | undefined,
): Promise<void> {
  const settings: Record<string, string | number> = {
    ...wholeBlockSettings,
    ...(permit === undefined ? {} : { max_execution_time: permit.timeLimit / 1000 }),
    insert_deduplicate: token === undefined ? 0 : 1,
    ...(token === undefined ? {} : { insert_deduplication_token: token }),
  };
  const { into, format } = insertTarget(table, columns);
  if (lines.byteLength >= rawBytes) {
    const named = columns === undefined ? {} : { columns };
    await session.insert({ table, ...named, values: lines, format, settings });
    return;
  }
  await session.queryAsync(`${into} SETTINGS ${settingsText(settings)} FORMAT ${format}\n${textOf(lines)}`);
}

/** The bytes as text, without copying them. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
}
