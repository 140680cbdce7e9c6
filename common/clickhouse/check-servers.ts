import { ApiError } from '../errors/api-error.ts';
import type { Database } from './database.ts';
import { textLiteral } from './literal.ts';

interface Look {
  readonly url: string;
  readonly server: string;
  /** Empty when there is no such table. */
  readonly engine: string;
  /** Shards of the cluster, as this server knows it. */
  readonly shards: number;
}

/**
 * Whether the addresses can be used together: with a cluster every server must know it, and several servers without
 * one must share their tables in another way. Rows would get lost between them otherwise. A server that does not answer
 * is not looked at. Throws an Error with one clear sentence.
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
  const sql = `SELECT toString(serverUUID()) AS server,
    (SELECT any(engine) FROM system.tables WHERE database = ${textLiteral(database)} AND name = 'migrations') AS engine,
    (SELECT toFloat64(uniq(shard_num)) FROM system.clusters WHERE cluster = ${textLiteral(cluster ?? '')}) AS shards`;
  const look = async (url: string): Promise<Look | null> => {
    const db = open(url);
    try {
      const [row] = await db.rows<Omit<Look, 'url'>>(sql, signal);
      return row === undefined ? null : { url, ...row };
    } catch (error) {
      if (error instanceof ApiError || signal.aborted) return null;
      throw error;
    } finally {
      await db.close();
    }
  };
  const looks = (await Promise.all(urls.map(look))).filter((found) => found !== null);
  if (cluster !== undefined) {
    const stranger = looks.find(({ shards }) => shards === 0);
    if (stranger === undefined) return;
    throw new Error(`the server at ${stranger.url} knows no cluster ${cluster} (CLICKHOUSE_CLUSTER)`);
  }
  const servers = new Set(looks.map(({ server }) => server));
  const shared = looks.every(({ engine }) => /^(Replicated|Shared)/.test(engine));
  if (servers.size > 1 && !shared) {
    throw new Error(
      'CLICKHOUSE_URL names several servers, which share no tables: CLICKHOUSE_CLUSTER makes them share, or name one',
    );
  }
}
