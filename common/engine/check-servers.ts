import { ApiError } from '#kernel/errors/api-error.ts';
import type { Database } from './database.ts';
import { textLiteral } from './literal.ts';

interface ServerFacts {
  readonly url: string;
  readonly server: string;
  /** Empty: there is no such table. */
  readonly engine: string;
  /** The server's macros that identify it among the replicas. */
  readonly macros: readonly string[];
}

/**
 * Checks that the addresses of a store belong together: its servers must share their tables, or rows would get lost
 * between them. Skips a server that does not respond. Throws an Error with one clear sentence.
 * @param open opens a single address
 */
export async function checkServers(
  config: { readonly url: string; readonly database: string; readonly replicated: boolean },
  open: (url: string) => Pick<Database, 'rows' | 'close'>,
  signal: AbortSignal,
): Promise<void> {
  const { database, replicated } = config;
  const urls = config.url.split(',');
  if (urls.length === 1 && !replicated) return;
  const sql = `SELECT toString(serverUUID()) AS server,
    (SELECT any(engine) FROM system.tables WHERE database = ${textLiteral(database)} AND name = 'migrations') AS engine,
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
  if (replicated) {
    for (const { url, engine, macros } of servers) {
      if (macros.length < 2) throw new Error(`the server at ${url} lacks the macros shard and replica`);
      if (engine !== '' && !isShared(engine))
        throw new Error(`the tables at ${url} were made without CLICKHOUSE_REPLICATED`);
    }
    return;
  }
  const ids = new Set(servers.map(({ server }) => server));
  if (ids.size > 1 && !servers.every(({ engine }) => isShared(engine))) {
    throw new Error(
      'CLICKHOUSE_URL names several servers as one store, but they share no tables: put a semicolon between stores, or set CLICKHOUSE_REPLICATED=true',
    );
  }
}

function isShared(engine: string): boolean {
  return /^(Replicated|Shared)/.test(engine);
}
