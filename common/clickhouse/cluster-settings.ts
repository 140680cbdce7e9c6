/** Seconds that DDL may take on all servers; beyond them it continues, and its outcome is unknown. */
const ddlTimeout = 20;
/** Milliseconds that an INSERT waits for the other replicas. */
const quorumTimeout = 10_000;

/** Settings of every statement in a cluster, so that acknowledged writes are durable and visible. */
export const clusterSettings: Readonly<Record<string, string | number>> = {
  // an INSERT is acknowledged when most replicas of its shard have the rows, and not when it is queued
  distributed_foreground_insert: 1,
  insert_quorum: 'auto',
  insert_quorum_timeout: quorumTimeout,
  // all servers read a shard from, and write it to, the same replica: the first one that answers, not their own
  load_balancing: 'in_order',
  prefer_localhost_replica: 0,
  // a replica that is this many seconds behind is not read, as long as there is another one
  max_replica_delay_for_distributed_queries: 1,
  // a shard that is away is an error, not a shorter answer
  skip_unavailable_shards: 0,
  // a statement about a space asks the shard of the space, not all
  optimize_skip_unused_shards: 1,
  // the records of a space and their keys lie on one shard: a query of the keys reads those beside the records
  distributed_product_mode: 'local',
  // DDL and changes are done on all servers when they are acknowledged
  alter_sync: 2,
  lightweight_deletes_sync: 2,
  distributed_ddl_task_timeout: ddlTimeout,
  distributed_ddl_output_mode: 'none',
};
