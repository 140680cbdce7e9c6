import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/**
 * How much of a test that can be of any size is run: all with TEST_SIZE=full, else a tenth, and with TEST_SIZE=forms, as
 * `npm test -- all` sets it, a tenth in each of its forms. The cases are the same in each run; TEST_SEED names others,
 * and TEST_SEED=random takes and prints a new seed.
 */
const size = process.env.TEST_SIZE;

/** Whether a test is run in all its forms. */
export const full = size === 'full' || size === 'forms';

export const seed = readSeed(process.env.TEST_SEED);

fc.configureGlobal({ seed });

/** How many runs, or rounds, of those that a full test has. */
export function sized(all: number, quick = Math.ceil(all / 10)): number {
  return size === 'full' ? all : quick;
}

function readSeed(text = '20261122'): number {
  if (text !== 'random') return Number(text);
  const chosen = randomInt(2 ** 31);
  console.error(`TEST_SEED=${chosen}`);
  return chosen;
}
