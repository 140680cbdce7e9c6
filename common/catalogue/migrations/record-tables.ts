import type { Migration } from '../migrate.ts';
import { deduplication, durable, timestamp, updatable } from './table-parts.ts';

/** Records of all spaces, and keys of values that are older than their field's uniqueness (docs/records.md). */
export const recordsTable = 'records';
export const keysTable = 'record_keys';

/** The smallest unit of a read: few records if they are large, so that a stream of them takes little memory. */
const granules = 'index_granularity = 256, index_granularity_bytes = 1048576';
/**
 * A value of a megabyte is compressed in several blocks: a single block takes two buffers of its size in each part that a
 * list reads, 16 MiB more for ten parts. And each granule of a column has its own block: a find of 64 records then
 * decompresses 7.5 MB instead of 20.
 */
const blocks = 'max_compress_block_size = 65536, min_compress_block_size = 8192';
/**
 * Horizontal merges. Vertical merges, the engine's default from 131,072 rows on, size granules by the key columns only: a
 * granule had 107 records of a megabyte, and each look-up in a neighbouring space read them all. The disabled heuristic
 * would, with small parts, merge everything again for each new part
 * (docs/decisions/062-index-of-values.md).
 */
const merges =
  'enable_vertical_merge_algorithm = 0, merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0';

/** Columns for values, and how many at most; the catalogue assigns one of them to each field of a space: n0, n1 ... */
export const slotColumns = {
  n: { count: 16, type: 'Float64' },
  t: { count: 24, type: 'String' },
  b: { count: 8, type: 'Bool' },
  i: { count: 8, type: 'Int64' },
} as const;

/** How many of each kind a table begins with; `RecordColumns` adds the others. */
const firstCounts = { n: 2, t: 4, b: 1, i: 0 } as const;

/** @param slot of a kind that has columns */
export function columnOf(slot: string): string {
  return `${slot} Nullable(${slotColumns[slot[0] as keyof typeof slotColumns].type})`;
}

/**
 * The columns that a new table has.
 * @param replicated then all: a replica may learn of an added column only after it gets an INSERT
 */
export function firstColumns(replicated: boolean): readonly string[] {
  return (Object.keys(slotColumns) as (keyof typeof slotColumns)[]).flatMap((kind) => {
    const length = replicated ? slotColumns[kind].count : firstCounts[kind];
    return Array.from({ length }, (_, index) => `${kind}${index}`);
  });
}

/** For each value 40 bits: MD5 of its slot and the value, combined with the space's id (query/records/sql/terms.ts). */
const hash = `reinterpretAsUInt64(substring(MD5(concat(slot, ':', value)), 1, 8))`;
const ofSpace = `reinterpretAsUInt64(substring(UUIDStringToNum(toString(space)), 9, 8))`;
const term = `toFixedString(substring(reinterpretAsFixedString(bitXor(${hash}, ${ofSpace})), 1, 5), 5)`;
const terms = `arrayMap((slot, value) -> ${term}, mapKeys(_doc), mapValues(_doc))`;

const recordColumns = (slots: readonly string[]): string =>
  `(space UUID, _id String, _created_at ${timestamp}, _updated_at ${timestamp}, ${slots.map(columnOf).join(', ')},
  _doc Map(LowCardinality(String), String), _hashes Map(LowCardinality(String), String),
  _terms Array(FixedString(5)) DEFAULT ${terms}, _keys Array(UInt64),
  INDEX terms _terms TYPE text(tokenizer = 'array'))`;
const keyColumns = '(space UUID, key UInt64, _id String, _written DateTime DEFAULT now())';

/**
 * A space is a row of the catalogue. Tables with lightweight updates must never get a mutation (docs/decisions/003-updates.md);
 * adding a column is none.
 */
export const recordTables: Migration = {
  version: 102,
  name: 'records',
  statements: (database, layout) => {
    const [records, keys] = [`${database}.${recordsTable}`, `${database}.${keysTable}`];
    return [
      `CREATE TABLE IF NOT EXISTS ${records} ${recordColumns(firstColumns(layout.replicated))}
        ENGINE = ${layout.engine(records, 'MergeTree')} ORDER BY (space, _id)
        SETTINGS ${granules}, ${blocks}, ${merges}, ${updatable}, ${deduplication(layout)}, ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${keys} ${keyColumns}
        ENGINE = ${layout.engine(keys, 'MergeTree')} ORDER BY (space, key)
        SETTINGS index_granularity = 256, merge_selector_base = 10, ${updatable}, ${durable}`,
    ];
  },
};

/**
 * A compact part has one mark for each column, in place of one for each stream: a read loads them all
 * (docs/decisions/091-bulk.md).
 */
export const fewMarks = 'write_marks_for_substreams_in_compact_parts = 0';

/** Settings of a table whose parts become parts of the records table, and are never merged before. */
export const stageSettings = `${granules}, ${blocks}, ${updatable}, ${durable}, ${fewMarks},
  max_bytes_to_merge_at_min_space_in_pool = 1, max_bytes_to_merge_at_max_space_in_pool = 1`;
