import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkServers } from '#engine/check-servers.ts';
import type { Database } from '#engine/database.ts';
import { StatementError } from '#engine/engine-failure.ts';
import type { ClickhouseConfig } from '#kernel/config/read-clickhouse.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import type { Log } from '#kernel/log/log.ts';
import { ClickhouseStores } from './clickhouse-stores.ts';
import type { OpenedStore } from './further-store.ts';
import { startProblem, versionProblem } from './start-problem.ts';

/** Deadline for the first answer of a server. Milliseconds. */
const firstAnswer = 10_000;
/** The deadline of statements; for some no request waits. Milliseconds. */
const statementTimeout = 60_000;

type EngineConfig = Pick<Config, 'clickhouse' | 'dataDir' | 'requestTimeout' | 'readLimits'>;

/** An engine, and a callback for when the tables of its first store are up to date. */
export interface OpenedDatabase {
  readonly db: Database;
  /** @param deployment id of this deployment */
  join(deployment: string, database: string): Promise<void>;
}

/**
 * Opens the engine of the configuration; the other one is not even loaded. Throws an Error with one clear sentence when
 * it can't be used.
 */
export async function openDatabase(
  config: EngineConfig,
  log: Pick<Log, 'warn' | 'info'>,
): Promise<OpenedDatabase> {
  const { clickhouse, dataDir, readLimits: reads } = config;
  if (clickhouse !== undefined) return openStores(config, clickhouse, log);
  const path = join(dataDir, 'chdb');
  // otherwise the first start is silent until it is over
  if (!existsSync(path)) log.info(`making a database in ${path}, which takes some seconds`);
  const { openChdb } = await import('#engine/open-chdb.ts');
  return { db: openChdb({ path, reads }), async join() {} };
}

async function openStores(
  { requestTimeout, readLimits: reads }: EngineConfig,
  clickhouse: ClickhouseConfig,
  log: Pick<Log, 'warn' | 'info'>,
): Promise<OpenedDatabase> {
  const { openClickhouse } = await import('#engine/open-clickhouse.ts');
  const open = (url: string): Database =>
    openClickhouse({
      ...clickhouse,
      url,
      ca: clickhouse.caFile === undefined ? undefined : readFileSync(clickhouse.caFile),
      timeout: Math.max(statementTimeout, requestTimeout),
      reads,
      log,
    });
  const opened = clickhouse.stores.map((url) => ({ ...namesOf(url), url, db: open(url) }));
  const away = new Set<OpenedStore>();
  try {
    for (const store of opened) {
      const { url, db } = store;
      try {
        const sql = 'SELECT version() AS version';
        const signal = AbortSignal.timeout(firstAnswer);
        const [row] = await db.rows<{ version: string }>({ sql, signal });
        const problem = versionProblem(row?.version ?? '');
        if (problem !== null) throw new Error(problem);
        await checkServers({ ...clickhouse, url }, open, AbortSignal.timeout(firstAnswer));
      } catch (cause) {
        const failure = new Error(
          `the ClickHouse server at ${url} can't be used: ${startProblem(cause, clickhouse)}`,
          {
            cause,
          },
        );
        // an unavailable store affects only its own spaces
        if (opened.length === 1 || !isAway(cause)) throw failure;
        away.add(store);
      }
    }
    const stores = await ClickhouseStores.open(opened, { database: clickhouse.database, log }, away);
    return { db: stores, join: (...args) => stores.join(...args) };
  } catch (error) {
    await Promise.all(opened.map(({ db }) => db.close()));
    throw error;
  }
}

/** Addresses have no user and no password. */
function namesOf(url: string): Pick<OpenedStore, 'name' | 'hosts'> {
  const hosts = url.split(',').map((address) => address.replace(/^https?:\/\//, ''));
  return { name: hosts[0] as string, hosts: hosts.join() };
}

/** Whether the failure may go away without the operator. */
function isAway(error: unknown): boolean {
  return error instanceof ApiError && !(error.cause instanceof StatementError);
}
