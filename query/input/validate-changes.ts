import { invalidValue } from '../../common/errors/catalogue.ts';
import { Problems } from '../../common/errors/problems.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import { readFieldValue } from '../structure/field-value.ts';
import type { Structure } from '../structure/structure.ts';
import { givenValues, requireRecord, withoutEmptyText } from './given-fields.ts';

/** What is to become of the fields that a request names; null clears one. Never empty. */
export type Changes = ReadonlyMap<Field, StoredValue | null>;

/** Checks the body of an update. Throws a 400 that lists every problem. */
export function validateChanges(body: unknown, structure: Structure): Changes {
  const problems = new Problems();
  const changes = new Map<Field, StoredValue | null>();
  const given = givenValues(requireRecord(body), structure, problems.add);
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
    const reading = readFieldValue(field.type, value);
    if ('value' in reading) changes.set(field, reading.value);
    else problems.add(`Value for Body field: ${name} ${reading.problem}`);
  }
  if (problems.found) throw invalidValue(problems.list());
  return changes;
}
