import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ReadLimits, readLimitDefaults } from '../config/read-limits.ts';
import { ApiError } from '../errors/api-error.ts';
import { deadlineExceeded } from '../errors/catalogue.ts';
import type { Log } from '../log/log.ts';
import {
  type ClickhouseServer,
  openServer,
  type ServerOptions,
  type Statement,
  type Until,
} from './clickhouse-server.ts';
import { clusterSettings } from './cluster-settings.ts';
import type { Database, ReadStatement } from './database.ts';
import { engineSettings, streamSettings, wholeBlockSettings } from './engine-settings.ts';
import { insertTarget } from './insert-target.ts';
import { Replicas, type ReplicasOptions } from './replicas.ts';
import { startDeadline } from './start-deadline.ts';
import { StatementError } from './statement-error.ts';
import { metadataTableNames, shardedTableNames, topologyOf } from './topology.ts';
import { UnknownOutcome } from './unknown-outcome.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

export interface ClickhouseOptions extends Omit<ServerOptions, 'url' | 'reads'> {
  /** As in `ServerOptions`; several with the same data are separated by commas. */
  readonly url: string;
  /** Milliseconds in which a statement has to be done, and a stream has to bring its next bytes. */
  readonly timeout?: number;
  /** Absent: as documented. */
  readonly reads?: Partial<ReadLimits>;
  /** Name of the cluster that the servers belong to, and of the database that holds the metadata tables. */
  readonly cluster?: { readonly name: string; readonly database: string } | undefined;
  readonly log?: Pick<Log, 'warn' | 'info'> | undefined;
  readonly times?: ReplicasOptions['times'] & { readonly catchUp?: number };
}

/** What the server takes for the statement before the rows: as much of a body it copies before it reads it. */
const insertHeadLimit = 64 * 1024;
/** Milliseconds in which a server has to have what the others have. */
const catchUpLimit = 5000;
/** Bytes of a stream that are awaited before its reader gets the first. */
const streamAhead = 64 * 1024;
/** How often the rows of one INSERT are sent to a cluster, and milliseconds between. */
const insertAttempts = 3;
const insertPause = 100;
/** Statements without a home are about the metadata tables, which have one together. */
const metadataHome = '';

/** ClickHouse servers with the same data, over their HTTP interface. Nothing is asked of them before the first statement. */
export function openClickhouse(options: ClickhouseOptions): Database {
  const { timeout = 60_000, cluster, log, times } = options;
  const reads = { ...readLimitDefaults, ...options.reads };
  const servers = options.url.split(',').map((url) => openServer({ ...options, url, reads }));
  // with another server at hand, a small result that breaks off is read again there
  const ahead = servers.length > 1 ? streamAhead : 0;
  const settings = cluster === undefined ? engineSettings : { ...engineSettings, ...clusterSettings };
  const replicas = new Replicas({
    servers,
    log,
    times,
    catchUp:
      cluster && ((server, home) => catchUp(server, home, cluster, settings, times?.catchUp ?? catchUpLimit)),
  });

  const within = async <Result>(
    key: string,
    caller: AbortSignal | undefined,
    work: (server: ClickhouseServer, until: Until) => Promise<Result>,
    limit = timeout,
  ): Promise<Result> => {
    caller?.throwIfAborted();
    const deadline = startDeadline(limit, caller);
    try {
      return await replicas.run(key, { signal: deadline.signal, caller }, work);
    } finally {
      deadline.end();
    }
  };
  const write = async (
    statement: Statement,
    key: string,
    caller: AbortSignal | undefined,
    permit: WritePermit | undefined,
  ): Promise<void> => {
    const timed = { ...statement, settings: { ...statement.settings, ...timeLimitSetting(permit) } };
    try {
      await within(key, caller, (server, until) => server.run(timed, until, permit));
    } catch (error) {
      throw permit !== undefined && tookTooLong(error)
        ? new StatementTimeout(permit.timeLimit, error)
        : error;
    }
  };

  /**
   * The rows of one INSERT go to several shards, so it may fail with some of them stored. A cluster knows an INSERT by
   * its token, so it is sent again until all are; one that still fails has an unknown outcome.
   */
  const writeToShards: typeof write = async (statement, key, caller, permit) => {
    const token = { insert_deduplicate: 1, insert_deduplication_token: randomUUID() };
    const marked = { ...statement, settings: { ...token, ...statement.settings } };
    const begun = performance.now();
    let failure: unknown;
    for (let attempt = 0; attempt < insertAttempts && performance.now() - begun < timeout; attempt++) {
      if (attempt > 0) await delay(insertPause * attempt);
      try {
        return await write(marked, key, caller, permit);
      } catch (error) {
        caller?.throwIfAborted();
        if (!mayBeStored(error)) throw failure === undefined ? error : unknown(failure);
        failure = error;
      }
    }
    throw unknown(failure);
  };

  return {
    cluster: cluster?.name,
    servers: servers.length,
    async command({ sql, signal, permit, home = metadataHome }) {
      const statement = { body: sql, settings: { ...settings, wait_end_of_query: 1 }, writes: true };
      await write(statement, home, signal, permit);
    },
    async rows<Row>({ sql, signal, account, home = metadataHome }: ReadStatement) {
      const limit = account === undefined ? timeout : Math.min(timeout, reads.timeout);
      const statement = { ...readStatement(sql, settings, limit), account };
      const bytes = await within(home, signal, (server, until) => server.run(statement, until)).catch(
        (error: unknown) => {
          throw account !== undefined && tookTooLong(error) ? deadlineExceeded(limit) : error;
        },
      );
      const text = bytes.toString('utf8').trimEnd();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Row);
    },
    async stream({ sql, format, signal, account, home = metadataHome }) {
      const body = `${sql}\nFORMAT ${format}`;
      const statement = { body, settings: { ...settings, ...streamSettings }, writes: false, account };
      const limit = account === undefined ? timeout : Math.min(timeout, reads.timeout);
      const args = { timeout: limit, ahead };
      const stream = (server: ClickhouseServer, until: Until) => server.stream(statement, until, args);
      return within(home, signal, stream, limit);
    },
    async insert({ table, columns, lines, signal, permit, token, home = metadataHome }) {
      // the statement goes before the rows: as part of the address it could be too long for a proxy
      const { into, format } = insertTarget(table, columns);
      const head = Buffer.from(`${into} FORMAT ${format}\n`);
      const statement = {
        body: [head, lines],
        settings: {
          ...settings,
          ...wholeBlockSettings,
          max_query_size: insertHeadLimit,
          wait_end_of_query: 1,
          ...tokenSettings(token),
        },
        writes: true,
      };
      await (cluster === undefined ? write : writeToShards)(statement, home, signal, permit);
    },
    async ready(signal) {
      const statement = readStatement('SELECT 1', settings, timeout);
      await within(metadataHome, signal, (server, until) => server.run(statement, until));
    },
    async close() {
      replicas.close();
      for (const server of servers) await server.close();
    },
  };
}

function tokenSettings(token: string | undefined): Readonly<Record<string, string | number>> {
  return token === undefined ? {} : { insert_deduplicate: 1, insert_deduplication_token: token };
}

/** Waits until a server has what the other replicas had. A table that is not there yet has nothing: migrations come after. */
async function catchUp(
  server: ClickhouseServer,
  home: string,
  cluster: { readonly name: string; readonly database: string },
  settings: Statement['settings'],
  limit: number,
): Promise<void> {
  const { rowsTable } = topologyOf({ cluster: cluster.name });
  const inDatabase = (name: string): string => `${cluster.database}.${name}`;
  const sharded = shardedTableNames[home.split(' ', 1)[0] as string];
  const tables =
    sharded === undefined
      ? metadataTableNames.map(inDatabase)
      : sharded.map((name) => rowsTable(inDatabase(name)));
  const signal = AbortSignal.timeout(limit);
  await Promise.all(
    tables.map(async (table) => {
      // https://clickhouse.com/docs/sql-reference/statements/system#sync-replica
      const body = `SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`;
      const statement = { body, settings: { ...settings, wait_end_of_query: 1 }, writes: false };
      try {
        await server.run(statement, { signal, caller: undefined });
      } catch (error) {
        if (!(error instanceof StatementError && missing.has(error.engineCode))) throw error;
      }
    }),
  );
}

/** UNKNOWN_TABLE, UNKNOWN_DATABASE. */
const missing: ReadonlySet<number> = new Set([60, 81]);

/**
 * The server that took the statement found it wrong before it passed rows on: parsing, types, names, rights.
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const wrongStatement: ReadonlySet<number> = new Set([
  6, 16, 26, 27, 38, 41, 53, 60, 62, 69, 72, 81, 115, 117, 131, 349, 497, 516,
]);

/** Whether some of an INSERT's rows may be stored in spite of its failure. */
function mayBeStored(error: unknown): boolean {
  if (error instanceof UnknownOutcome) return true;
  const told = error instanceof ApiError || error instanceof StatementTimeout ? error.cause : error;
  const engine = told instanceof ApiError ? told.cause : told;
  return engine instanceof StatementError && !wrongStatement.has(engine.engineCode);
}

function unknown(failure: unknown): UnknownOutcome {
  return failure instanceof UnknownOutcome ? failure : new UnknownOutcome(failure);
}

/** TIMEOUT_EXCEEDED, by the engine's number: nothing was written. */
function tookTooLong(error: unknown): boolean {
  return error instanceof ApiError && error.cause instanceof StatementError && error.cause.engineCode === 159;
}

/** Seconds. A statement that takes longer fails as a whole. */
function timeLimitSetting(permit: WritePermit | undefined): Readonly<Record<string, number>> {
  return permit === undefined ? {} : { max_execution_time: permit.timeLimit / 1000 };
}

/** A SELECT that is answered as a whole, so that what fails has a status of its own. */
function readStatement(sql: string, settings: Statement['settings'], timeout: number): Statement {
  return {
    body: `${sql}\nFORMAT JSONEachRow`,
    // a server goes on with what nobody waits for
    settings: { ...settings, wait_end_of_query: 1, max_execution_time: timeout / 1000 },
    writes: false,
  };
}
