import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/read-config.ts';
import type { Log } from '../log/log.ts';
import { checkServers } from './check-servers.ts';
import type { Database } from './database.ts';

/** Milliseconds for the first answer of a server. */
const firstAnswer = 10_000;
/** The deadline of statements; some do work that no request waits for. Milliseconds. */
const statementTimeout = 60_000;

/**
 * The engine that the configuration names; only that one is loaded. Throws an Error with one clear sentence when it
 * can't be used.
 */
export async function openDatabase(
  {
    clickhouse,
    dataDir,
    requestTimeout,
    readLimits: reads,
  }: Pick<Config, 'clickhouse' | 'dataDir' | 'requestTimeout' | 'readLimits'>,
  log: Pick<Log, 'warn' | 'info'>,
): Promise<Database> {
  if (clickhouse === undefined) {
    const { openChdb } = await import('./chdb-database.ts');
    return openChdb({ path: join(dataDir, 'chdb'), reads });
  }
  const { openClickhouse } = await import('./clickhouse-database.ts');
  const open = (url: string): Database =>
    openClickhouse({
      ...clickhouse,
      url,
      ca: clickhouse.caFile === undefined ? undefined : readFileSync(clickhouse.caFile),
      timeout: Math.max(statementTimeout, requestTimeout),
      reads,
      log,
    });
  const db = open(clickhouse.url);
  try {
    await db.ready(AbortSignal.timeout(firstAnswer));
    await checkServers(clickhouse, open, AbortSignal.timeout(firstAnswer));
  } catch (cause) {
    await db.close();
    throw new Error(`the ClickHouse server at ${clickhouse.url} can't be used: ${reasonOf(cause)}`, {
      cause,
    });
  }
  return db;
}

/** The cause behind the text that clients see. */
function reasonOf(error: unknown): string {
  const { cause, message, code } = error as NodeJS.ErrnoException & { cause?: unknown };
  if (cause instanceof Error) return reasonOf(cause);
  return message === '' ? (code ?? 'it does not answer') : message;
}
