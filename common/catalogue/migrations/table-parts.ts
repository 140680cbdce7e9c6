import type { TableLayout } from '#engine/table-layout.ts';

// parts of the migrations' DDL: existing stores were created with exactly these, so they never change

export const timestamp = `DateTime64(3, 'UTC')`;

/** An acknowledged row survives a power cut: https://clickhouse.com/docs/operations/settings/merge-tree-settings */
export const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';

/** The settings that lightweight updates need. */
export const updatable = 'enable_block_number_column = 1, enable_block_offset_column = 1';

/** How many INSERTs with a token are remembered, in case a stalled process repeats one; with replicas, also for how many seconds. */
export const deduplicationWindow = 10_000;
const deduplicationTime = 7 * 24 * 3600;

/**
 * The second of two INSERTs with the same insert_deduplication_token is dropped. So two processes can't both store a
 * version of a row, and a repeated INSERT counts once.
 */
export function deduplication({ replicated }: TableLayout): string {
  return replicated
    ? `replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationTime}`
    : `non_replicated_deduplication_window = ${deduplicationWindow}`;
}
