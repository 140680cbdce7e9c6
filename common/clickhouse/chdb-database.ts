import type { Session } from 'chdb';
import { type ReadLimits, readLimitDefaults } from '../config/read-limits.ts';
import { ChdbEngine, tookTooLong } from './chdb-engine.ts';
import { loadChdb } from './chdb-sessions.ts';
import type { Database, ReadStatement } from './database.ts';
import { isDirectoryLocked } from './directory-lock.ts';
import { wholeBlockSettings } from './engine-settings.ts';
import { insertTarget } from './insert-target.ts';
import { textLiteral } from './literal.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

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
  const engine = new ChdbEngine(chdb, path, { ...readLimitDefaults, ...reads });
  return {
    cluster: undefined,
    servers: 1,
    async command({ sql, signal, permit }) {
      const limit = timeLimitSetting(permit);
      const statement = limit.length === 0 ? sql : `${sql} SETTINGS ${limit.join()}`;
      await underLimit(permit, () =>
        engine.run({ signal, permit }, (session) => session.queryAsync(statement)),
      );
    },
    async rows<Row>({ sql, signal, account }: ReadStatement) {
      const query = (session: Session) => session.queryAsync(sql, { format: 'JSONEachRow' });
      const text = (await engine.run({ signal, account }, query)).text().trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    stream: (statement) => engine.stream(statement),
    async insert({ table, columns, lines, signal, permit, token }) {
      const settings = Object.entries(wholeBlockSettings).map(([name, value]) => `${name} = ${value}`);
      settings.push(...timeLimitSetting(permit), ...tokenSetting(token));
      const { into, format } = insertTarget(table, columns);
      const sql = `${into} SETTINGS ${settings.join(', ')} FORMAT ${format}\n`;
      const query = (session: Session) => session.queryAsync(sql + textOf(lines));
      await underLimit(permit, () => engine.run({ signal, permit }, query));
    },
    async ready(signal) {
      await engine.run({ signal }, (session) => session.queryAsync('SELECT 1'));
    },
    close: () => engine.close(),
  };
}

/** Without a copy of the bytes: of a large insert that alone would take milliseconds of the event loop. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
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
    throw permit !== undefined && tookTooLong(error) ? new StatementTimeout(permit.timeLimit, error) : error;
  }
}
