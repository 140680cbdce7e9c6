import { cacheBytesFor, usableMemory } from '#kernel/config/read-config.ts';

/** Threads that the engine keeps while they have nothing to do. Each has a stack, and caches of two allocators. */
const idleThreads = 16;

/** Caches of parts of tables. By default each may have gigabytes, whatever else the machine does. */
const caches = [
  'mark_cache_size',
  'index_mark_cache_size',
  'primary_index_cache_size',
  'text_index_tokens_cache_size',
  'text_index_header_cache_size',
  'text_index_postings_cache_size',
];

/**
 * Arguments with which the embedded engine starts: bounds of its memory, which no statement can set
 * (https://clickhouse.com/docs/operations/server-configuration-parameters/settings).
 * @param memory that the process may use, in bytes
 */
export function engineArguments(memory = usableMemory()): string[] {
  const bytes = cacheBytesFor(memory);
  return [`--max_thread_pool_free_size=${idleThreads}`, ...caches.map((name) => `--${name}=${bytes}`)];
}
