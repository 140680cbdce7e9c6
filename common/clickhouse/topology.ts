import { quoteIdentifier, textLiteral } from './literal.ts';

/**
 * Where tables lie. Without a cluster: in one store, under their own names. With one:
 * - control tables are whole on every server and replicated between all of them;
 * - sharded tables are two. The rows are in `<table>_local`, replicated between the servers of a shard, and `<table>`
 *   is a Distributed table over them, through which rows are read and inserted. What a Distributed table can't take
 *   (UPDATE, DELETE, OPTIMIZE, TRUNCATE) goes to the local tables of all servers.
 *
 * This is the one place that knows; whoever makes SQL asks here. Names with `quoted` are quoted, with their database.
 */
export interface Topology {
  /** undefined: one store. */
  readonly cluster: string | undefined;
  /** Follows the name in DDL, and in what changes rows of local tables. Empty without a cluster. */
  readonly onCluster: string;
  /** The table that holds the rows of a sharded table. */
  rowsTable(quoted: string): string;
  /** The same as a statement names it that changes rows, or the table, on all servers: UPDATE, DELETE, OPTIMIZE, DDL. */
  rowsEverywhere(quoted: string): string;
  /** The engine of a control table. @param engine such as `ReplacingMergeTree(version)` */
  controlEngine(quoted: string, engine: string): string;
  /** The engine of the table that holds the rows of a sharded table. @param quoted of the sharded table */
  rowsEngine(quoted: string, engine: string): string;
  /** The engine of the table over those; null without a cluster, where the rows' table is the only one. */
  distributedEngine(quoted: string, shardKey: string): string | null;
  /** A table function over the rows of all shards, for as long as there is no Distributed table; null without a cluster. */
  rowsOfAll(quoted: string, shardKey: string): string | null;
}

/** Tables that every server of a cluster has whole. */
export const controlTableNames = [
  'migrations',
  'users',
  'access_tokens',
  'access_token_uses',
  'projects',
  'record_spaces',
  'signing_keys',
  'deployments',
] as const;

const single: Topology = {
  cluster: undefined,
  onCluster: '',
  rowsTable: (quoted) => quoted,
  rowsEverywhere: (quoted) => quoted,
  controlEngine: (_, engine) => engine,
  rowsEngine: (_, engine) => engine,
  distributedEngine: () => null,
  rowsOfAll: () => null,
};

/** In Keeper. Names stay the same when a table is made by several processes at once; an id of the table would not. */
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
    rowsEverywhere: (quoted) => `${localName(quoted)}${onCluster}`,
    // one replica a server, of all shards: the names of replicas may repeat from shard to shard
    controlEngine: (quoted, engine) =>
      replicated(engine, `${keeperPath}/all/${plainName(quoted)}`, '{shard}-{replica}'),
    rowsEngine: (quoted, engine) =>
      replicated(engine, `${keeperPath}/{shard}/${plainName(localName(quoted))}`, '{replica}'),
    distributedEngine(quoted, shardKey) {
      const [database, table] = plainName(localName(quoted)).split('/') as [string, string];
      return `Distributed(${[cluster, database, table].map(textLiteral).join(', ')}, ${shardKey})`;
    },
    rowsOfAll: (quoted, shardKey) => `cluster(${textLiteral(cluster)}, ${localName(quoted)}, ${shardKey})`,
  };
}

/** The table's name ends it, quoted or not. */
function localName(quoted: string): string {
  return quoted.endsWith('`') ? `${quoted.slice(0, -1)}_local\`` : `${quoted}_local`;
}

/** `database/table`. Neither holds a dot, a slash or a backquote. */
function plainName(quoted: string): string {
  return quoted.replaceAll('`', '').replace('.', '/');
}
