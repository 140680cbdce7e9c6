import fc from 'fast-check';
import type { ModelType } from './model-field.ts';

/**
 * What a sequence does, in numbers that are given their meaning when it is run (the field, the record, the value that
 * they pick): so any part of a sequence can be left out when a counterexample is made smaller.
 */
export interface SequencePlan {
  /** Structures of the spaces. */
  readonly spaces: readonly SpacePlan[];
  readonly steps: readonly StepPlan[];
}

export interface FieldPlan {
  readonly slot: number;
  readonly type: ModelType;
  readonly required: boolean;
  readonly unique: boolean;
  readonly hashed: boolean;
  /** Null: no default. */
  readonly defaultPick: number | null;
}

export interface SpacePlan {
  readonly fields: readonly FieldPlan[];
  /** Other versions of the structure, each by what is different from the first. */
  readonly versions: readonly (readonly EditPlan[])[];
  /** Records that the space begins with. */
  readonly initial: readonly BodyPlan[];
}

export const edits = [
  'drop',
  'add',
  'required',
  'unique',
  'default',
  'rename',
  'order',
  'title',
  'type',
  'hashed',
  'wrong',
] as const;

export interface EditPlan {
  readonly edit: (typeof edits)[number];
  readonly field: number;
  readonly added: FieldPlan;
}

export interface ValuePlan {
  /** From the values that records have, where there are some. */
  readonly stored: boolean;
  readonly pick: number;
}

export const bodyFaults = ['type', 'unknown', 'missing', 'null', 'twice', 'system', 'shape'] as const;

export interface BodyPlan {
  /** For the fields in turn; null leaves one out. */
  readonly values: readonly (ValuePlan | null)[];
  readonly fault: { readonly kind: (typeof bodyFaults)[number]; readonly field: number } | null;
  readonly bySlug: boolean;
}

export interface ConditionPlan {
  readonly kind: 'field' | 'id' | 'createdAt' | 'updatedAt' | 'unknown' | 'misfit';
  readonly field: number;
  readonly value: ValuePlan;
  readonly form: number;
  readonly bySlug: boolean;
}

export interface OptionsPlan {
  readonly either: boolean | null;
  readonly sort: { readonly by: number; readonly order: 'asc' | 'desc' | null } | null;
  readonly page: { readonly limit: number; readonly page: number | null } | null;
  /** Something that is wrong instead of all this. */
  readonly fault: number | null;
}

export const operations = [
  'find',
  'findOne',
  'insert',
  'insertOne',
  'updateOne',
  'updateOneById',
  'deleteOneById',
  'clear',
  'search',
  'setKeys',
  'getKeys',
  'login',
  'getTokenOwner',
  'setStructure',
  'setInferred',
  'getInferred',
  'forget',
] as const;

export interface StepPlan {
  readonly operation: (typeof operations)[number];
  readonly owner: number;
  readonly space: number;
  readonly process: number;
  readonly version: number;
  /** An odd set of headers. */
  readonly headers: number | null;
  readonly record: number;
  readonly conditions: readonly ConditionPlan[];
  readonly options: OptionsPlan | null;
  readonly bodies: readonly BodyPlan[];
  readonly fault: boolean;
}

const pick = fc.oneof(
  { weight: 6, arbitrary: fc.nat(2) },
  { weight: 2, arbitrary: fc.nat(8) },
  { weight: 2, arbitrary: fc.nat(60) },
);
const few = fc.nat(5);
const rarely = (weight: number): fc.Arbitrary<boolean> =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const seldom = <Value>(arbitrary: fc.Arbitrary<Value>, weight: number): fc.Arbitrary<Value | null> =>
  fc.option(arbitrary, { nil: null, freq: weight });

const field: fc.Arbitrary<FieldPlan> = fc.record({
  slot: fc.oneof({ weight: 5, arbitrary: fc.nat(9) }, { weight: 1, arbitrary: fc.constant(3) }),
  type: fc.constantFrom('TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT'),
  required: rarely(5),
  unique: rarely(5),
  hashed: rarely(7),
  defaultPick: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: pick }),
});
const edit: fc.Arbitrary<EditPlan> = fc.record({
  edit: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...edits.slice(0, 8)) },
    { weight: 2, arbitrary: fc.constantFrom(...edits.slice(8)) },
  ),
  field: few,
  added: field,
});
const value: fc.Arbitrary<ValuePlan> = fc.record({ stored: rarely(3), pick });
const body: fc.Arbitrary<BodyPlan> = fc.record({
  values: fc.array(fc.option(value, { nil: null, freq: 4 }), { maxLength: 7 }),
  fault: fc.oneof(
    { weight: 10, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom(...bodyFaults), field: few }) },
  ),
  bySlug: rarely(3),
});
const condition: fc.Arbitrary<ConditionPlan> = fc.record({
  kind: fc.oneof(
    { weight: 20, arbitrary: fc.constant('field' as const) },
    { weight: 4, arbitrary: fc.constantFrom('id' as const, 'createdAt' as const, 'updatedAt' as const) },
    { weight: 1, arbitrary: fc.constantFrom('unknown' as const, 'misfit' as const) },
  ),
  field: few,
  value: fc.record({ stored: fc.boolean(), pick }),
  form: fc.nat(4),
  bySlug: rarely(3),
});
const options: fc.Arbitrary<OptionsPlan> = fc.record({
  either: fc.option(fc.boolean(), { nil: null }),
  sort: fc.option(
    fc.record({ by: fc.nat(9), order: fc.constantFrom('asc' as const, 'desc' as const, null) }),
    { nil: null },
  ),
  page: seldom(
    fc.record({
      limit: fc.integer({ min: 1, max: 4 }),
      page: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null }),
    }),
    2,
  ),
  fault: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(20) }),
});
const operation = fc.oneof(
  { weight: 35, arbitrary: fc.constantFrom('insert' as const, 'insertOne' as const) },
  { weight: 30, arbitrary: fc.constantFrom('find' as const, 'findOne' as const) },
  { weight: 30, arbitrary: fc.constantFrom('updateOne' as const, 'updateOneById' as const) },
  { weight: 8, arbitrary: fc.constant('search' as const) },
  { weight: 6, arbitrary: fc.constant('deleteOneById' as const) },
  { weight: 6, arbitrary: fc.constantFrom('setKeys' as const, 'getKeys' as const) },
  { weight: 10, arbitrary: fc.constantFrom('login' as const, 'getTokenOwner' as const) },
  {
    weight: 6,
    arbitrary: fc.constantFrom('setStructure' as const, 'setInferred' as const, 'getInferred' as const),
  },
  { weight: 3, arbitrary: fc.constantFrom('clear' as const, 'forget' as const) },
);
const step: fc.Arbitrary<StepPlan> = fc.record({
  operation,
  owner: fc.nat(1),
  space: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(5) }),
  process: fc.nat(1),
  version: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(3) }),
  headers: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: fc.nat(20) }),
  record: fc.nat(7),
  conditions: fc.array(condition, { maxLength: 3 }),
  options: fc.option(options, { nil: null }),
  bodies: fc.array(body, { minLength: 1, maxLength: 4 }),
  fault: rarely(14),
});

export const sequencePlan: fc.Arbitrary<SequencePlan> = fc.record({
  spaces: fc.array(
    fc.record({
      fields: fc.uniqueArray(field, { minLength: 1, maxLength: 6, selector: ({ slot }) => slot }),
      versions: fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
      initial: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(body, { minLength: 1, maxLength: 3 }) },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
});
