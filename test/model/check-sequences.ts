import fc from 'fast-check';

/** How many sequences of which seed: MODEL_SEQUENCES and MODEL_SEED; MODEL_PATH goes straight to a failure that was seen. */
export interface Runs {
  readonly sequences: number;
  readonly seed: number;
}

export function requestedRuns(usual: number): Runs {
  const { MODEL_SEQUENCES, MODEL_SEED } = process.env;
  return {
    sequences: Number(MODEL_SEQUENCES ?? usual),
    seed: Number(MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31)),
  };
}

/** Runs what a plan stands for many times; the smallest plan that fails is thrown with how to see it again. */
export async function checkSequences<Plan>(
  plans: fc.Arbitrary<Plan>,
  { sequences, seed }: Runs,
  run: (plan: Plan) => Promise<void>,
): Promise<void> {
  const { MODEL_PATH, MODEL_SHRINK } = process.env;
  const result = await fc.check(fc.asyncProperty(plans, run), {
    numRuns: sequences,
    seed,
    endOnFailure: MODEL_SHRINK === 'false',
    ...(MODEL_PATH === undefined ? {} : { path: MODEL_PATH }),
  });
  if (!result.failed) return;
  const { message, cause } = result.errorInstance as Error;
  const again = `MODEL_SEED=${seed} MODEL_PATH=${result.counterexamplePath}`;
  throw new Error(`sequence ${result.numRuns} failed (${again}):\n${message}`, { cause });
}
