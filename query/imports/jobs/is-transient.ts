import { RedisFailure } from '#coordination/redis/redis-connection.ts';
import { visibleError } from '#kernel/errors/render-error.ts';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';

/**
 * Whether an import that failed may well succeed later: the structure of its space is being changed, a store is away or
 * busy, or something took too long. What a file, a quota or a full disk refuses, they refuse again.
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof DeadlinePassed || error instanceof RedisFailure) return true;
  if (error instanceof Error && error.name === 'TimeoutError') return true;
  const { status, code } = visibleError(error);
  // whether it was written is looked up before it is written again
  return status === 503 || code === 'outcome_unknown';
}
