import { invalidValue } from '#kernel/errors/catalogue.ts';
import { Problems } from '#kernel/errors/problems.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field } from '../structure/field.ts';
import { isIncrement, type NewValue, readIncrement } from '../structure/increment.ts';
import type { Structure } from '../structure/structure.ts';
import { readFieldValue } from '../types/field-types.ts';
import { givenValues, requireRecord, withoutEmptyText } from './given-fields.ts';
import type { RecordValues } from './validate-record.ts';

/** New values of the fields that a request names. Never empty. */
export type Changes = ReadonlyMap<Field, NewValue>;

/** Checks the body of an update. Throws a 400 that lists every problem. */
export function validateChanges(body: unknown, structure: Structure): Changes {
  const problems = new Problems();
  const changes = readChanges(requireRecord(body), structure, problems);
  if (problems.found) throw invalidValue(problems.list());
  return changes;
}

/** The valid changes; the faults of the others are added to the problems. */
export function readChanges(
  body: Readonly<Record<string, unknown>>,
  structure: Structure,
  problems: Problems,
): Map<Field, NewValue> {
  const changes = new Map<Field, NewValue>();
  const given = givenValues(body, structure, problems.add);
  for (let place = 0; place < given.length; place++) {
    if (given[place] === undefined) continue;
    const field = structure.fields[place] as Field;
    const value = withoutEmptyText(field, given[place]);
    const name = shownName(field.name);
    if (value === null) {
      if (field.required) problems.add(`Body field: ${name} is required and can not be cleared`);
      changes.set(field, null);
      continue;
    }
    const reading = readIncrement(field, value) ?? readFieldValue(field, value);
    if ('value' in reading) changes.set(field, reading.value);
    else problems.add(`Value for Body field: ${name} ${reading.problem}`);
  }
  return changes;
}

/** The values to set, in the order of the structure's fields: null for fields without a change, or with an increment. */
export function valuesSet(changes: Changes, { fields }: Structure): RecordValues {
  return fields.map((field) => {
    const value = changes.get(field) ?? null;
    return isIncrement(value) ? null : value;
  });
}

/** The record that the changes make if there was none. */
export function firstValues(changes: Changes, { fields }: Structure): RecordValues {
  return fields.map((field) => {
    const value = changes.get(field) ?? field.defaultValue;
    return isIncrement(value) ? value.by : value;
  });
}
