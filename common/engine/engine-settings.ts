/** Settings that every statement runs under, embedded or served. */
export const engineSettings: Readonly<Record<string, string | number>> = {
  // answers carry ISO 8601 times, and JSON that is no larger than it must be
  date_time_output_format: 'iso',
  output_format_json_escape_forward_slashes: 0,
  output_format_json_quote_64bit_integers: 0,
  // the query service gathers its own batches, and knows when a row is visible
  async_insert: 0,
  // reads must be consistent with writes; this cache is not
  use_query_cache: 0,
  // a statement that reads a table twice sees one state of it; servers before 25.12 have it off
  enable_shared_storage_snapshot_in_query: 1,
  // while an update waits for its merge this way of reading loses rows, in 26.7 (ClickHouse #106460)
  query_plan_direct_read_from_text_index: 0,
  // the other parser of JSON refuses an array or object for a whole number beyond 64 bits
  allow_simdjson: 0,
  // conditions and unique checks carry values in the statement's text
  // a record may have 64 MiB, and each of its characters may take an escape
  max_query_size: 256 * 1024 * 1024,
  max_ast_elements: 10_000_000,
  max_expanded_ast_elements: 10_000_000,
};

/** Settings that keep an INSERT one block, so that all or none of its rows appear. */
export const wholeBlockSettings: Readonly<Record<string, number>> = {
  max_insert_block_size: 100_000_000,
  min_insert_block_size_rows: 100_000_000,
  min_insert_block_size_bytes: 0,
  input_format_parallel_parsing: 0,
};

/**
 * Settings of results that are streamed. One thread and small blocks are as fast as the defaults when rows leave in
 * order, and hold a fifth of the memory (docs/decisions/002-embedded-sessions.md). Reading ahead is bounded by bytes, and
 * parts that come later in the order are not read before it is their turn, so that records of a megabyte take little
 * more than small ones (npm run bench -- query --only Q4).
 */
export const streamSettings: Readonly<Record<string, number>> = {
  max_threads: 1,
  max_block_size: 2048,
  preferred_block_size_bytes: 64 * 1024,
  max_read_buffer_size: 64 * 1024,
  read_in_order_use_buffering: 0,
  read_in_order_use_virtual_row: 1,
};

/** Ends a statement with a larger result than an answer that may be kept (query/records/store-embedded/result-cache.ts). */
export const wholeResult = resultLimit(1024 * 1024);

/** Ends a statement with a larger result. @param bytes before they are formatted */
export function resultLimit(bytes: number): string {
  return `max_result_bytes = ${bytes}, result_overflow_mode = 'throw'`;
}

/**
 * Settings of every statement where the engine replicates tables between servers. A write is acknowledged when most of
 * them have it; a read goes to the server that took the writes of its home. `select_sequential_consistency` would need
 * inserts one at a time for a table: the second one fails (https://clickhouse.com/docs/operations/settings/settings#insert_quorum_parallel).
 */
export const replicatedSettings: Readonly<Record<string, string | number>> = {
  insert_quorum: 'auto',
  insert_quorum_timeout: 10_000,
  alter_sync: 2,
  mutations_sync: 2,
  lightweight_deletes_sync: 2,
};
