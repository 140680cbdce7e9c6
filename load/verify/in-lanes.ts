/** Does jobs, a few at once. Rejects with the first failure, and begins no further job then. */
export async function inLanes<Job>(
  jobs: Iterable<Job>,
  lanes: number,
  work: (job: Job) => Promise<void>,
): Promise<void> {
  const rest = jobs[Symbol.iterator]();
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true && !hasFailed; next = rest.next()) {
      await work(next.value).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
