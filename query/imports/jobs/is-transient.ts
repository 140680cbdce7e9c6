import { RedisFailure } from '#coordination/redis/redis-connection.ts';
import { visibleError } from '#kernel/errors/render-error.ts';
import { DeadlinePassed } from '#kernel/limits/deadline.ts';

/**
 * Whether a failed import may succeed later: the structure of its space is being changed, a store is unavailable or busy,
 * or a deadline has passed. A bad file, a quota or a full disk would fail again.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof DeadlinePassed || error instanceof RedisFailure) return true;
  if (error instanceof Error && error.name === 'TimeoutError') return true;
  const { status, code } = visibleError(error);
  // the next try looks up whether the records were written
  return status === 503 || code === 'outcome_unknown';
}
