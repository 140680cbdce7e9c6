import type { Migration } from '../migrate.ts';
import { deduplication, durable, timestamp, updatable } from './table-parts.ts';

/** Records of all spaces, and keys of values that were stored before their field was unique (docs/records.md). */
export const recordsTable = 'records';
export const keysTable = 'record_keys';

/** The least that is read at once: of large records few, so that a stream of them takes little memory. */
const granules = 'index_granularity = 256, index_granularity_bytes = 1048576';
/**
 * A value of a megabyte is compressed in pieces: as one block it takes two buffers of its size in each part that a list reads
 * from, 16 MiB more for ten parts. And a granule of a column is a block of its own: a find of 64 records decompressed 20 MB
 * otherwise, and 7.5 so.
 */
const blocks = 'max_compress_block_size = 65536, min_compress_block_size = 8192';
/**
 * Merges take all columns at once. The other way, which the engine takes from 131,072 rows on, sizes granules by the columns
 * of the key alone: 107 records of a megabyte lay in one, and each look-up in a space beside them read them all. And where
 * parts are small, a merge took the newest part and all that was there, for each new part
 * (docs/decisions/062-index-of-values.md).
 */
const merges =
  'enable_vertical_merge_algorithm = 0, merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0';

/** Columns for values; the catalogue gives each field of a space one of them: n0, n1 ... t0 ... b0 ... */
export const slotColumns = {
  n: { count: 16, type: 'Float64' },
  t: { count: 24, type: 'String' },
  b: { count: 8, type: 'Bool' },
} as const;

const slots = Object.entries(slotColumns).flatMap(([kind, { count, type }]) =>
  Array.from({ length: count }, (_, index) => `${kind}${index} Nullable(${type})`),
);

/** Of each value 40 bits of MD5 of its slot and itself, and of the space's id (query/records/sql/terms.ts). */
const hash = `reinterpretAsUInt64(substring(MD5(concat(slot, ':', value)), 1, 8))`;
const ofSpace = `reinterpretAsUInt64(substring(UUIDStringToNum(toString(space)), 9, 8))`;
const term = `toFixedString(substring(reinterpretAsFixedString(bitXor(${hash}, ${ofSpace})), 1, 5), 5)`;
const terms = `arrayMap((slot, value) -> ${term}, mapKeys(_doc), mapValues(_doc))`;

const recordColumns = `(space UUID, _id String, _created_at ${timestamp}, _updated_at ${timestamp}, ${slots.join(', ')},
  _doc Map(LowCardinality(String), String), _hashes Map(LowCardinality(String), String),
  _terms Array(FixedString(5)) DEFAULT ${terms}, _keys Array(UInt64),
  INDEX terms _terms TYPE text(tokenizer = 'array'))`;
const keyColumns = '(space UUID, key UInt64, _id String, _written DateTime DEFAULT now())';

/**
 * The tables have a fixed form, and no request changes it: a space is a row of the catalogue. Tables with lightweight
 * updates must never see a mutation (docs/decisions/003-updates.md).
 */
export const recordTables: Migration = {
  version: 102,
  name: 'records',
  statements: (database, layout) => {
    const [records, keys] = [`${database}.${recordsTable}`, `${database}.${keysTable}`];
    return [
      `CREATE TABLE IF NOT EXISTS ${records} ${recordColumns}
        ENGINE = ${layout.engine(records, 'MergeTree')} ORDER BY (space, _id)
        SETTINGS ${granules}, ${blocks}, ${merges}, ${updatable}, ${deduplication(layout)}, ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${keys} ${keyColumns}
        ENGINE = ${layout.engine(keys, 'MergeTree')} ORDER BY (space, key)
        SETTINGS index_granularity = 256, merge_selector_base = 10, ${updatable}, ${durable}`,
    ];
  },
};

/** Of a table whose parts become parts of the records table, and are never merged before. */
export const stageSettings = `${granules}, ${blocks}, ${updatable}, ${durable},
  max_bytes_to_merge_at_min_space_in_pool = 1, max_bytes_to_merge_at_max_space_in_pool = 1`;
