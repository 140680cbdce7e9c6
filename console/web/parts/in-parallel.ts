/** Runs a task for each item, a few at once. The first failure ends it, when those under way are over. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  signal: AbortSignal,
  task: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < items.length && !failed) {
      signal.throwIfAborted();
      const item = items[next++] as T;
      try {
        await task(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
