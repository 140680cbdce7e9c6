import type { Topology } from '../../clickhouse/topology.ts';
import type { Migration } from '../migrate.ts';

/** Records of all spaces, and the keys of their unique values (docs/records.md). */
export const recordsTable = 'records';
export const keysTable = 'record_keys';

const timestamp = `DateTime64(3, 'UTC')`;
const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';
/** What lightweight updates need. */
const updatable = 'enable_block_number_column = 1, enable_block_offset_column = 1';
/** The least that is read at once: of large records few, so that a stream of them takes little memory. */
const granuleBytes = 1024 * 1024;
/** INSERTs with a token that may come again while one process stalls: records that a space begins with. */
const deduplicationWindow = 10_000;

/** Columns for values, of which the catalogue gives each field of a space one: n0, n1 ... t0 ... b0 ... */
export const slotColumns = {
  n: { count: 16, type: 'Float64' },
  t: { count: 24, type: 'String' },
  b: { count: 8, type: 'Bool' },
} as const;

const slots = Object.entries(slotColumns).flatMap(([kind, { count, type }]) =>
  Array.from({ length: count }, (_, index) => `${kind}${index} Nullable(${type})`),
);

const recordColumns = `space UUID, _id String, _created_at ${timestamp}, _updated_at ${timestamp}, ${slots.join(', ')},
  _doc Map(LowCardinality(String), String), _hashes Map(LowCardinality(String), String)`;
const keyColumns = `space UUID, key UInt64, _id String, _written DateTime DEFAULT now()`;

/** Rows of one space lie on one shard, so that a statement about a space asks no other. */
const shardKey = 'cityHash64(space)';

/**
 * The tables have a fixed form, and no request changes it: a space is a row of the catalogue. Tables with lightweight
 * updates must never see a mutation (docs/decisions/003-updates.md).
 */
export const recordTables: Migration = {
  version: 11,
  name: 'records',
  statements: (database, topology) => {
    const window =
      topology.cluster === undefined
        ? `non_replicated_deduplication_window = ${deduplicationWindow}`
        : `replicated_deduplication_window = ${deduplicationWindow}`;
    return [
      ...tableSql(topology, `${database}.${recordsTable}`, recordColumns, {
        order: '(space, _id)',
        settings: `index_granularity = 1024, index_granularity_bytes = ${granuleBytes}, ${updatable}, ${window}, ${durable}`,
      }),
      ...tableSql(topology, `${database}.${keysTable}`, keyColumns, {
        order: '(space, key)',
        settings: `index_granularity = 256, ${updatable}, ${durable}`,
      }),
    ];
  },
};

function tableSql(
  topology: Topology,
  table: string,
  columnsSql: string,
  { order, settings }: { readonly order: string; readonly settings: string },
): readonly string[] {
  const engine = topology.rowsEngine(table, 'MergeTree');
  const rows = `CREATE TABLE IF NOT EXISTS ${topology.rowsEverywhere(table)} (${columnsSql})
    ENGINE = ${engine} ORDER BY ${order} SETTINGS ${settings}`;
  const over = topology.distributedEngine(table, shardKey);
  if (over === null) return [rows];
  return [rows, `CREATE TABLE IF NOT EXISTS ${table}${topology.onCluster} (${columnsSql}) ENGINE = ${over}`];
}
