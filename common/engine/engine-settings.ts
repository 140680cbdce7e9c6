/** Settings of every statement, embedded or served. */
export const engineSettings: Readonly<Record<string, string | number>> = {
  // answers have ISO 8601 times, and compact JSON
  date_time_output_format: 'iso',
  output_format_json_escape_forward_slashes: 0,
  output_format_json_quote_64bit_integers: 0,
  // the query service batches by itself, and knows when a row is visible
  async_insert: 0,
  // reads must be consistent with writes; this cache is not
  use_query_cache: 0,
  // a statement that reads a table twice sees the same state of it; off by default before 25.12
  enable_shared_storage_snapshot_in_query: 1,
  // in 26.7 this optimization loses rows while an update waits for its merge (ClickHouse #106460)
  query_plan_direct_read_from_text_index: 0,
  // the other JSON parser refuses an array or object with an integer beyond 64 bits
  allow_simdjson: 0,
  // statements contain the values of conditions and unique checks
  // a record may have 64 MiB, and each of its characters may need an escape
  max_query_size: 256 * 1024 * 1024,
  max_ast_elements: 10_000_000,
  max_expanded_ast_elements: 10_000_000,
};

/** Settings that keep an INSERT a single block, so that all or none of its rows appear. */
export const wholeBlockSettings: Readonly<Record<string, number>> = {
  max_insert_block_size: 100_000_000,
  min_insert_block_size_rows: 100_000_000,
  min_insert_block_size_bytes: 0,
  input_format_parallel_parsing: 0,
};

/**
 * Settings of results that are streamed. One thread and small blocks are as fast as the defaults when rows leave in
 * order, and take a fifth of the memory (docs/decisions/002-embedded-sessions.md). Read-ahead is bounded by bytes, and
 * later parts are not read early, so that records of a megabyte take little more than small ones
 * (npm run bench -- query --only Q4).
 */
export const streamSettings: Readonly<Record<string, number>> = {
  max_threads: 1,
  max_block_size: 2048,
  preferred_block_size_bytes: 64 * 1024,
  max_read_buffer_size: 64 * 1024,
  read_in_order_use_buffering: 0,
  read_in_order_use_virtual_row: 1,
};

/** Ends a statement whose result is too large for the cache (query/records/store-embedded/result-cache.ts). */
export const wholeResult = resultLimit(1024 * 1024);

/** Ends a statement with a larger result. @param bytes before formatting */
export function resultLimit(bytes: number): string {
  return `max_result_bytes = ${bytes}, result_overflow_mode = 'throw'`;
}

/**
 * Settings of every statement if the engine replicates tables between servers. A write is acknowledged when a majority
 * has it; a read goes to the server that took the writes of its home. `select_sequential_consistency` would allow only
 * one INSERT at a time for each table: a second one fails (https://clickhouse.com/docs/operations/settings/settings#insert_quorum_parallel).
 */
export const replicatedSettings: Readonly<Record<string, string | number>> = {
  insert_quorum: 'auto',
  insert_quorum_timeout: 10_000,
  alter_sync: 2,
  mutations_sync: 2,
  lightweight_deletes_sync: 2,
};
