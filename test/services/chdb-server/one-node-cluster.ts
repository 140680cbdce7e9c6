import { writeFileSync } from 'node:fs';

/**
 * What lets the embedded engine stand for a cluster of one server. It knows the cluster, and runs Distributed tables over
 * itself; it has no Keeper, so what needs one is taken out of statements: ON CLUSTER, and the word Replicated.
 */
export interface OneNodeCluster {
  /** For `Session`: reads the engine's configuration. */
  readonly connectionArgs: readonly string[];
  /** The statement as the engine can run it; null when there is nothing to run. */
  rewrite(sql: string): string | null;
}

/** An address of the server counts as its own when it has this port, which nobody listens on. */
const ownPort = 9000;
/** Settings of the HTTP interface's clients that would make the engine talk to itself over the network. */
export const dropped: ReadonlySet<string> = new Set(['prefer_localhost_replica', 'insert_quorum']);

/** @param shards each is the same server: more than one is good for plans only */
export function oneNodeCluster(name: string, configFile: string, shards = 1): OneNodeCluster {
  const shard = `<shard>
      <internal_replication>true</internal_replication>
      <replica><host>127.0.0.1</host><port>${ownPort}</port></replica>
    </shard>`;
  writeFileSync(
    configFile,
    `<clickhouse><tcp_port>${ownPort}</tcp_port><remote_servers><${name}>
    ${shard.repeat(shards)}</${name}></remote_servers>
    <macros><shard>1</shard><replica>a</replica></macros></clickhouse>`,
  );
  const onCluster = ` ON CLUSTER \`${name}\``;
  return {
    connectionArgs: [`--config-file=${configFile}`],
    rewrite(sql) {
      if (/^\s*SYSTEM SYNC REPLICA /.test(sql)) return null;
      if (!/^\s*(CREATE|ALTER|UPDATE|DELETE|TRUNCATE|OPTIMIZE|DROP)\b/.test(sql)) return sql;
      const local = sql.replace(onCluster, '');
      if (local.includes('MODIFY SETTING')) {
        return local.replace(
          /replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = \d+/,
          'non_replicated_deduplication_window = $1',
        );
      }
      const engine = /ENGINE = Replicated(\w+)\('[^']*', '[^']*'(?:, )?/;
      if (!engine.test(local)) return local;
      // replicated tables know a token that was there before without being asked to
      const window = 'non_replicated_deduplication_window = 1000';
      const made = local.replace(engine, 'ENGINE = $1(');
      return made.includes(' SETTINGS ') ? `${made}, ${window}` : `${made} SETTINGS ${window}`;
    },
  };
}
