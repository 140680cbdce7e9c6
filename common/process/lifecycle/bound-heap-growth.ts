import { setFlagsFromString } from 'node:v8';

/**
 * V8 collects the whole heap when it has grown by half since the last time. By itself it lets a heap grow up to fourfold
 * on a machine with much memory, and most of it is garbage then (docs/decisions/092-memory-of-a-process.md). Called at
 * the start, so that each way to start has it: NODE_OPTIONS doesn't take this flag.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=50');
}
