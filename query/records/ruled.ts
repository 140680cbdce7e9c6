import { notAllowed } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import { type Conditions, narrowed } from './input/parse-conditions.ts';
import type { ReadPlan } from './input/read-plan.ts';
import type { RecordValues } from './input/validate-record.ts';
import { rowOf } from './sql/new-record.ts';
import type { StoredRow } from './sql/stored-row.ts';
import { rowTest } from './store/row-test.ts';
import type { Field } from './structure/field.ts';
import type { RecordSpace } from './structure/record-space.ts';
import type { Family } from './structure/space-auth.ts';
import type { StoredValue } from './types/field-type.ts';

/** Conditions, and what the rules of the space add for this request. Every read of records goes through here. */
export function ruled(space: RecordSpace, conditions: Conditions): Conditions {
  return ruledFor(space, 'find', conditions);
}

export function ruledPlan(space: RecordSpace, plan: ReadPlan): ReadPlan {
  return space.bound === undefined ? plan : { ...plan, conditions: ruled(space, plan.conditions) };
}

/** The same for records to be changed: a record that can't be found can't be changed either. */
export function ruledFor(
  space: RecordSpace,
  operation: 'find' | 'update' | 'delete',
  conditions: Conditions,
): Conditions {
  return space.bound === undefined ? conditions : narrowed(conditions, ruleOf(space, operation));
}

/** Whether the request may find the record, and update or delete it. */
export function mayTouch(
  space: RecordSpace,
  operation: 'find' | 'update' | 'delete',
  row: StoredRow,
): boolean {
  return meetsRule(space, 'find', row) && meetsRule(space, operation, row);
}

/** The conditions of a rule; null: nobody may. */
export function conditionsOf({ bound }: RecordSpace, operation: Family): Conditions | null {
  return (bound?.[operation] ?? null) as Conditions | null;
}

/** Throws a 403 when the rules forbid the new state of a record. */
export function assertAllowed(space: RecordSpace, operation: 'insert' | 'update', row: StoredRow): void {
  if (!meetsRule(space, operation, row))
    throw notAllowed(
      `The record would not meet the rules of the record space ${shownName(space.stored.slug)} for ${operation}`,
    );
}

/** Throws a 403 for a field that the request may not write. */
export function assertWritable({ bound }: RecordSpace, fields: Iterable<Field>): void {
  if (bound === undefined) return;
  for (const { slug, name } of fields) {
    if (bound.readonly.includes(slug))
      throw notAllowed(`Body field: ${shownName(name)} is readonly by the rules of the record space`);
  }
}

/**
 * The values of new records, completed by the rules. Throws a 403 for values of fields that the rules do not let the request
 * write, and for records that may not be stored.
 */
export async function filledIn(
  space: RecordSpace,
  records: readonly RecordValues[],
  now: string,
  signal: AbortSignal,
): Promise<readonly RecordValues[]> {
  const { bound, structure } = space;
  if (bound === undefined) return records;
  const { set, readonly } = bound;
  const fill = (field: Field, value: StoredValue | null): StoredValue | null => {
    const given = set.get(field.slug);
    if (given === null)
      throw notAllowed(
        `Body field: ${shownName(field.name)} gets a value of the logged-in user, and there is none`,
      );
    if (given !== undefined) return given;
    if (readonly.includes(field.slug) && value !== field.defaultValue) assertWritable(space, [field]);
    return value;
  };
  const all: RecordValues[] = [];
  const fillIn = (given: RecordValues): void => {
    const values = structure.fields.map((field, place) => fill(field, given[place] ?? null));
    assertAllowed(space, 'insert', rowOf(space, { id: '', createdAt: now, values }).row);
    all.push(values);
  };
  await forEachYielding(records, fillIn, signal);
  return all;
}

/** Whether a rule allows all records. */
export function isOfAll(space: RecordSpace, operation: Family): boolean {
  if (space.bound === undefined) return true;
  const { plain, others } = ruleOf(space, operation);
  return plain.length + others.length === 0;
}

/** The space as its account sees it, for internal work. */
export function unbound(space: RecordSpace): RecordSpace {
  if (space.bound === undefined) return space;
  const { bound: _, ...whole } = space;
  return whole;
}

function meetsRule(space: RecordSpace, operation: Family, row: StoredRow): boolean {
  return space.bound === undefined || rowTest(ruleOf(space, operation))(row);
}

/** Throws a 403 where nobody may. */
function ruleOf(space: RecordSpace, operation: Family): Conditions {
  const rule = conditionsOf(space, operation);
  if (rule === null) throw notAllowed(`The rules of the record space let nobody ${operation} records`);
  return rule;
}
