import { resultWithin } from '#kernel/limits/deadline.ts';
import { RedisFailure } from './redis-connection.ts';

/**
 * The work's result, or null if Redis failed: the connection already logs its outages.
 * @param tell called with any other failure; the result is null then too
 */
export async function unlessAway<Result>(
  work: Promise<Result>,
  tell: (error: unknown) => void,
): Promise<Result | null> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof RedisFailure)) tell(error);
    return null;
  }
}

/** Milliseconds after which a request continues with data of its own process or of the store. */
const usualPatience = 250;

/** Like `unlessAway`, for work that a request waits for: also null when Redis is slow, because continuing without it is faster. */
export function ifQuick<Result>(
  work: Promise<Result>,
  tell: (error: unknown) => void,
  patience = usualPatience,
): Promise<Result | null> {
  return resultWithin(unlessAway(work, tell), patience);
}
