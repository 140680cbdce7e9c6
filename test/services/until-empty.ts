import { setTimeout as sleep } from 'node:timers/promises';

const limit = 20_000;

/** What is taken back behind an answer is gone a little later: answers what is left then, or after 20 s. */
export async function untilEmpty<Item>(
  look: () => readonly Item[] | Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const deadline = performance.now() + limit;
  for (;;) {
    const left = await look();
    if (left.length === 0 || performance.now() > deadline) return left;
    await sleep(10);
  }
}
