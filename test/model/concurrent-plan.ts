import fc from 'fast-check';

/** Rounds of operations on the few records of one space; those of a round are asked for at once. */
export interface ConcurrentPlan {
  /** Records that are there before: whether each waits to be taken. */
  readonly waiting: readonly boolean[];
  readonly rounds: readonly (readonly ConcurrentStep[])[];
}

export interface ConcurrentStep {
  readonly kind: 'set' | 'take' | 'insert' | 'claim' | 'delete' | 'clear' | 'find';
  readonly process: number;
  readonly record: number;
  /** Of the fields that `set` changes. */
  readonly fields: readonly ('a' | 'b' | 'c')[];
  /** Of the unique field; null: none. */
  readonly unique: 'x' | 'y' | 'z' | null;
  readonly waiting: boolean;
}

const step: fc.Arbitrary<ConcurrentStep> = fc.record({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('set' as const) },
    { weight: 18, arbitrary: fc.constantFrom('take' as const, 'insert' as const, 'claim' as const) },
    { weight: 5, arbitrary: fc.constantFrom('delete' as const, 'find' as const) },
    { weight: 2, arbitrary: fc.constant('clear' as const) },
  ),
  process: fc.nat(1),
  record: fc.nat(4),
  fields: fc.uniqueArray(fc.constantFrom('a' as const, 'b' as const, 'c' as const), {
    minLength: 1,
    maxLength: 2,
  }),
  unique: fc.constantFrom('x', 'y', 'z', null),
  waiting: fc.boolean(),
});

export const concurrentPlan: fc.Arbitrary<ConcurrentPlan> = fc.record({
  waiting: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  rounds: fc.array(fc.array(step, { minLength: 2, maxLength: 8, size: 'max' }), {
    minLength: 1,
    maxLength: 3,
  }),
});
