import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/**
 * How much of a test that can be of any size is run: TEST_SIZE=full, as `npm test -- all` sets it, is all of it. The
 * cases are the same in each run; TEST_SEED names others, and TEST_SEED=random takes and prints a new seed.
 */
export const full = process.env.TEST_SIZE === 'full';

export const seed = readSeed(process.env.TEST_SEED);

fc.configureGlobal({ seed });

/** How many runs, or rounds, of those that a full test has. */
export function sized(all: number, quick = Math.ceil(all / 10)): number {
  return full ? all : quick;
}

function readSeed(text = '20261122'): number {
  if (text !== 'random') return Number(text);
  const chosen = randomInt(2 ** 31);
  console.error(`TEST_SEED=${chosen}`);
  return chosen;
}
