import fc from 'fast-check';
import { seed } from '../services/test-size.ts';

/** How many sequences of which seed: MODEL_SEQUENCES and TEST_SEED; MODEL_PATH goes straight to a failure that was seen. */
export interface Runs {
  readonly sequences: number;
  readonly seed: number;
}

export function requestedRuns(usual: number): Runs {
  return { sequences: Number(process.env.MODEL_SEQUENCES ?? usual), seed };
}

/** Runs that look for a smaller plan after one failed: more find little, and the report should come in time. */
const smallerAttempts = 200;

/**
 * Runs what a plan stands for many times. Of the smallest plan that fails it tells what happened, line by line, and
 * throws how to see it again.
 */
export async function checkSequences<Plan>(
  plans: fc.Arbitrary<Plan>,
  { sequences, seed }: Runs,
  run: (plan: Plan) => Promise<void>,
  tell: (line: string) => void,
): Promise<void> {
  const { MODEL_PATH, MODEL_SHRINK } = process.env;
  let attempts = smallerAttempts;
  let failed = false;
  const property = fc.asyncProperty(plans, async (plan) => {
    if (failed && attempts-- <= 0) return;
    try {
      await run(plan);
    } catch (error) {
      failed = true;
      throw error;
    }
  });
  const result = await fc.check(property, {
    numRuns: sequences,
    seed,
    endOnFailure: MODEL_SHRINK === 'false',
    ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH }),
  });
  if (!result.failed) return;
  const { message, cause } = result.errorInstance as Error;
  // control characters end a line, or the whole report
  for (const line of message.split('\n')) tell(line.replace(/\p{Cc}/gu, '\uFFFD'));
  const again = `TEST_SEED=${seed} MODEL_PATH=${result.counterexamplePath}`;
  throw new Error(`sequence ${result.numRuns} failed: see the comments, or ${again}`, { cause });
}
