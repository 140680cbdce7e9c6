import { quoteIdentifier, textLiteral } from './literal.ts';

/**
 * The place of tables. Without a cluster: in one store, under their own names. With one:
 * - metadata tables are whole on every server and replicated between all of them;
 * - sharded tables are two. The rows are in `<table>_local`, replicated between the servers of a shard, and `<table>`
 *   is a Distributed table over them, through which rows are read and inserted. Statements that a Distributed table
 *   refuses (UPDATE, DELETE, OPTIMIZE, TRUNCATE) go to the local tables of all servers.
 *
 * All are made by migrations. This is the one place that knows; all code that makes SQL asks here. Tables are
 * `database.table`, and need no quotes.
 */
export interface Topology {
  /** undefined: one store. */
  readonly cluster: string | undefined;
  /** Follows the name in DDL, and in changes of local tables. Empty without a cluster. */
  readonly onCluster: string;
  /** The table that holds the rows of a sharded table. */
  rowsTable(table: string): string;
  /** Its name in a statement that changes rows on all servers (UPDATE, DELETE), or makes the table there. */
  rowsEverywhere(table: string): string;
  /** The engine of a metadata table. @param engine such as `ReplacingMergeTree(version)` */
  metadataEngine(table: string, engine: string): string;
  /** The engine of the table that holds the rows of a sharded table. */
  rowsEngine(table: string, engine: string): string;
  /** The engine of the table over those; null without a cluster, where the rows' table is the only one. */
  distributedEngine(table: string, shardKey: string): string | null;
}

/** Tables that every server of a cluster has whole. */
export const metadataTableNames = [
  'migrations',
  'users',
  'access_tokens',
  'access_token_uses',
  'projects',
  'record_spaces',
  'signing_keys',
  'deployments',
  'webhook_deliveries',
  'webhook_calls',
  'webhook_processes',
  'console_sessions',
  'session_tokens',
  'cache_outages',
  'usage_days',
] as const;

/** Sharded tables, by the first word of the homes that their statements name. */
export const shardedTableNames: Readonly<Record<string, readonly string[]>> = {
  records: ['records', 'record_keys'],
  cloud_files: ['cloud_files', 'file_list'],
};

const single: Topology = {
  cluster: undefined,
  onCluster: '',
  rowsTable: (table) => table,
  rowsEverywhere: (table) => table,
  metadataEngine: (_, engine) => engine,
  rowsEngine: (_, engine) => engine,
  distributedEngine: () => null,
};

/** Path in Keeper. Names stay the same when several processes make a table at once; an id of the table would not. */
const keeperPath = '/clickhouse/tables/sluice';

/** The layout of a store. @param store a `Database`, or its `cluster` */
export function topologyOf({ cluster }: { readonly cluster?: string | undefined }): Topology {
  if (cluster === undefined) return single;
  const replicated = (engine: string, path: string, replica: string): string => {
    const [, name = engine, args = ''] = /^(\w+)(?:\((.*)\))?$/.exec(engine) ?? [];
    const all = [textLiteral(path), textLiteral(replica), ...(args === '' ? [] : [args])];
    return `Replicated${name}(${all.join(', ')})`;
  };
  const onCluster = ` ON CLUSTER ${quoteIdentifier(cluster)}`;
  return {
    cluster,
    onCluster,
    rowsTable: localName,
    rowsEverywhere: (table) => `${localName(table)}${onCluster}`,
    // one replica a server, of all shards: the names of replicas may repeat from shard to shard
    metadataEngine: (table, engine) =>
      replicated(engine, `${keeperPath}/all/${table.replace('.', '/')}`, '{shard}-{replica}'),
    rowsEngine: (table, engine) =>
      replicated(engine, `${keeperPath}/{shard}/${localName(table).replace('.', '/')}`, '{replica}'),
    distributedEngine(table, shardKey) {
      const names = [cluster, ...localName(table).split('.')];
      return `Distributed(${names.map(textLiteral).join(', ')}, ${shardKey})`;
    },
  };
}

function localName(table: string): string {
  return `${table}_local`;
}
