import { RedisFailure } from './redis-connection.ts';

/** The work's result, or null when it takes longer than so many milliseconds: then it is quicker to do without Redis. */
export function unlessLate<Result>(work: Promise<Result>, milliseconds: number): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, milliseconds, null);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
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
