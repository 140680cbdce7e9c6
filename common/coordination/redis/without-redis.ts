import { waitAtMost } from '#kernel/limits/wait-at-most.ts';
import { RedisFailure } from './redis-connection.ts';

/** The work's result, or null when it takes longer than `milliseconds`: then it is quicker to do without Redis. */
export async function unlessLate<Result>(
  work: Promise<Result>,
  milliseconds: number,
): Promise<Result | null> {
  return (await waitAtMost(work, milliseconds)) ? work : null;
}

/**
 * The work's result, or null when Redis failed at it: the connection reports its outages.
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

/** Milliseconds after which a request continues with the data of its own process, or of the store. */
const usualPatience = 250;

/** Both together, for work that a request waits for. */
export function ifQuick<Result>(
  work: Promise<Result>,
  tell: (error: unknown) => void,
  patience = usualPatience,
): Promise<Result | null> {
  return unlessLate(unlessAway(work, tell), patience);
}
