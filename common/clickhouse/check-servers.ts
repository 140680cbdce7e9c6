import { ApiError } from '../errors/api-error.ts';
import type { Database } from './database.ts';
import { textLiteral } from './literal.ts';

interface ServerFacts {
  readonly url: string;
  readonly server: string;
  /** Empty when there is no such table. */
  readonly engine: string;
  /** Shards of the cluster, as this server knows it. */
  readonly shards: number;
  /** Shards among them in which a Distributed table writes to one replica, and leaves the others to that. */
  readonly replicating: number;
  /** The server's macros for its own place in the cluster. */
  readonly macros: readonly string[];
}

/**
 * Whether the addresses can be used together: with a cluster every server must know it, and several servers without
 * one must share their tables in another way. Rows would get lost between them otherwise. A server that does not answer
 * is left out. Throws an Error with one clear sentence.
 * @param open one address alone
 */
export async function checkServers(
  config: { readonly url: string; readonly database: string; readonly cluster: string | undefined },
  open: (url: string) => Pick<Database, 'rows' | 'close'>,
  signal: AbortSignal,
): Promise<void> {
  const { database, cluster } = config;
  const urls = config.url.split(',');
  if (urls.length === 1 && cluster === undefined) return;
  const ofCluster = `cluster = ${textLiteral(cluster ?? '')}`;
  const sql = `SELECT toString(serverUUID()) AS server,
    (SELECT any(engine) FROM system.tables WHERE database = ${textLiteral(database)} AND name = 'migrations') AS engine,
    (SELECT toFloat64(uniqExact(shard_num)) FROM system.clusters WHERE ${ofCluster}) AS shards,
    (SELECT toFloat64(uniqExactIf(shard_num, internal_replication)) FROM system.clusters WHERE ${ofCluster}) AS replicating,
    (SELECT groupArray(macro) FROM system.macros WHERE macro IN ('shard', 'replica')) AS macros`;
  const factsOf = async (url: string): Promise<ServerFacts | null> => {
    const db = open(url);
    try {
      const [row] = await db.rows<Omit<ServerFacts, 'url'>>({ sql, signal });
      return row === undefined ? null : { url, ...row };
    } catch (error) {
      if (error instanceof ApiError || signal.aborted) return null;
      throw error;
    } finally {
      await db.close();
    }
  };
  const servers = (await Promise.all(urls.map(factsOf))).filter((found) => found !== null);
  if (cluster !== undefined) {
    for (const { url, shards, replicating, macros } of servers) {
      if (shards === 0)
        throw new Error(`the server at ${url} knows no cluster ${cluster} (CLICKHOUSE_CLUSTER)`);
      if (replicating < shards) {
        throw new Error(
          `the cluster ${cluster} needs internal_replication in every shard, and at ${url} lacks it`,
        );
      }
      if (macros.length < 2) throw new Error(`the server at ${url} lacks the macros shard and replica`);
    }
    return;
  }
  const ids = new Set(servers.map(({ server }) => server));
  const shared = servers.every(({ engine }) => /^(Replicated|Shared)/.test(engine));
  if (ids.size > 1 && !shared) {
    throw new Error(
      'CLICKHOUSE_URL names several servers, which share no tables: CLICKHOUSE_CLUSTER makes them share, or name one',
    );
  }
}
