import type { TableLayout } from '#engine/table-layout.ts';

// parts of the DDL of migrations: stores were made with just these, so they never change

export const timestamp = `DateTime64(3, 'UTC')`;

/** An acknowledged row survives a power cut: https://clickhouse.com/docs/operations/settings/merge-tree-settings */
export const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';

/** The settings that lightweight updates need. */
export const updatable = 'enable_block_number_column = 1, enable_block_offset_column = 1';

/** INSERTs with a token that may come again while one process stalls, and, where there are replicas, seconds. */
export const deduplicationWindow = 10_000;
const deduplicationTime = 7 * 24 * 3600;

/**
 * The first of two INSERTs with the same insert_deduplication_token counts, the other one is dropped: so two processes
 * can't both store a version of a row, and an INSERT that is repeated counts once.
 */
export function deduplication({ replicated }: TableLayout): string {
  return replicated
    ? `replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationTime}`
    : `non_replicated_deduplication_window = ${deduplicationWindow}`;
}
