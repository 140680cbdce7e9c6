/** Does jobs, a few at once. */
export async function inLanes<Job>(
  jobs: Iterable<Job>,
  lanes: number,
  work: (job: Job) => Promise<void>,
): Promise<void> {
  const rest = jobs[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
