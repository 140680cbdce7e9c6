import { variableNames } from '#kernel/config/read-config.ts';

/** Other settings that processes read, of Node and of the image. */
export const ofTheRuntime: readonly string[] = [
  'NODE_ENV',
  'UV_THREADPOOL_SIZE',
  'MALLOC_ARENA_MAX',
  'MALLOC_MMAP_THRESHOLD_',
];

/** The name of every environment variable that a process reads. */
export function knownVariables(): ReadonlySet<string> {
  return new Set([...ofTheRuntime, ...variableNames]);
}
