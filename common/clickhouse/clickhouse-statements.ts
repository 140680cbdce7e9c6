import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReadLimits } from '../config/settings.ts';
import { ApiError } from '../errors/api-error.ts';
import type { Log } from '../log/log.ts';
import { ClickhouseServer, type ServerOptions, type Statement, type Until } from './clickhouse-server.ts';
import { clusterSettings } from './cluster-settings.ts';
import { StatementError } from './engine-failure.ts';
import { engineSettings } from './engine-settings.ts';
import { ReplicaCatchUp, Replicas, type ReplicasOptions, sameData } from './replicas.ts';
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
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly times?: ReplicasOptions['times'] & { readonly catchUp?: number };
}

/** Milliseconds in which a server has to catch up with the others. */
const catchUpLimit = 5000;
/** How often the rows of one INSERT are sent to a cluster, and milliseconds between. */
const insertAttempts = 3;
const insertPause = 100;

/** The home of a statement, its caller's signal, and the permit that it needs to begin. */
export interface Sending {
  readonly home: string;
  readonly signal?: AbortSignal | undefined;
  readonly permit?: WritePermit | undefined;
}

/** Sends statements to the servers: each with a deadline, to its home, and again where that is safe. */
export class ClickhouseStatements {
  /** Settings of every statement. */
  readonly settings: Statement['settings'];
  readonly serverCount: number;
  readonly timeout: number;
  readonly #cluster: ClickhouseOptions['cluster'];
  readonly #servers: readonly ClickhouseServer[];
  readonly #replicas: Replicas;

  constructor(options: ClickhouseOptions, reads: ReadLimits) {
    const { timeout = 60_000, cluster, log, times } = options;
    this.timeout = timeout;
    this.#cluster = cluster;
    const settings = cluster === undefined ? engineSettings : { ...engineSettings, ...clusterSettings };
    this.settings = settings;
    this.#servers = options.url.split(',').map((url) => new ClickhouseServer({ ...options, url, reads }));
    this.serverCount = this.#servers.length;
    const limit = times?.catchUp ?? catchUpLimit;
    this.#replicas = new Replicas({
      servers: this.#servers,
      log,
      times,
      catchUp:
        cluster === undefined
          ? sameData
          : new ReplicaCatchUp((server, home) => catchUp(server, home, cluster, settings, limit)),
    });
  }

  async within<Result>(
    { home, signal: caller }: Sending,
    work: (server: ClickhouseServer, until: Until) => Promise<Result>,
    limit = this.timeout,
  ): Promise<Result> {
    caller?.throwIfAborted();
    const controller = new AbortController();
    const late = (): void => controller.abort(new Error(`the database did not answer within ${limit} ms`));
    const timer = setTimeout(late, limit);
    const onAbort = (): void => controller.abort(caller?.reason);
    caller?.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#replicas.run(home, { signal: controller.signal, caller }, work);
    } finally {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    }
  }

  async write(statement: Statement, sending: Sending): Promise<void> {
    const { permit } = sending;
    const timed = { ...statement, settings: { ...statement.settings, ...timeLimitSetting(permit) } };
    try {
      await this.within(sending, (server, until) => server.run(timed, until, permit));
    } catch (error) {
      throw permit !== undefined && tookTooLong(error)
        ? new StatementTimeout(permit.timeLimit, error)
        : error;
    }
  }

  /** Sends rows, which in a cluster may be of several shards. */
  async insert(statement: Statement, sending: Sending): Promise<void> {
    if (this.#cluster === undefined) await this.write(statement, sending);
    else await this.#insertIntoShards(statement, sending);
  }

  async close(): Promise<void> {
    this.#replicas.close();
    for (const server of this.#servers) await server.close();
  }

  /**
   * The rows of one INSERT go to several shards, so it may fail with some of them stored. A cluster knows an INSERT by
   * its token, so it is sent again until all are; one that still fails has an unknown outcome.
   */
  async #insertIntoShards(statement: Statement, sending: Sending): Promise<void> {
    const token = { insert_deduplicate: 1, insert_deduplication_token: randomUUID() };
    const marked = { ...statement, settings: { ...token, ...statement.settings } };
    const begun = performance.now();
    let failure: unknown;
    for (let attempt = 0; attempt < insertAttempts && performance.now() - begun < this.timeout; attempt++) {
      if (attempt > 0) await delay(insertPause * attempt);
      try {
        return await this.write(marked, sending);
      } catch (error) {
        sending.signal?.throwIfAborted();
        if (!mayBeStored(error)) throw failure === undefined ? error : unknown(failure);
        failure = error;
      }
    }
    throw unknown(failure);
  }
}

/** Waits until a server has the data of the other replicas. A table that is not there yet has none: migrations come after. */
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
  const reason = error instanceof ApiError || error instanceof StatementTimeout ? error.cause : error;
  const engine = reason instanceof ApiError ? reason.cause : reason;
  return engine instanceof StatementError && !wrongStatement.has(engine.engineCode);
}

function unknown(failure: unknown): UnknownOutcome {
  return failure instanceof UnknownOutcome ? failure : new UnknownOutcome(failure);
}

/** TIMEOUT_EXCEEDED, by the engine's number: nothing was written. */
export function tookTooLong(error: unknown): boolean {
  return error instanceof ApiError && error.cause instanceof StatementError && error.cause.engineCode === 159;
}

/** Seconds. A statement that takes longer fails as a whole. */
function timeLimitSetting(permit: WritePermit | undefined): Readonly<Record<string, number>> {
  return permit === undefined ? {} : { max_execution_time: permit.timeLimit / 1000 };
}
