import { invalidBody, invalidValue } from '#kernel/errors/catalogue.ts';
import { Problems } from '#kernel/errors/problems.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { Field } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import type { StoredValue } from '../types/field-type.ts';
import { isPlainValue, readFieldValue } from '../types/field-types.ts';
import { type Complain, givenValues, isRecord, requireRecord, withoutEmptyText } from './given-fields.ts';

/** A record's values in the order of the structure's fields; null: no value. */
export type RecordValues = readonly (StoredValue | null)[];

/** Hashing takes milliseconds of a core for each value. */
export const maxHashedValues = 1000;
/**
 * Characters that the records of a request may get in addition to its body: names and defaults of all fields, ids
 * and times. A body of two megabytes of tiny records would otherwise become gigabytes.
 */
export const maxAddedCharacters = 64 * 1024 * 1024;
/** The least size of a record, and of each of its fields. */
export const recordOverhead = 150;
export const fieldOverhead = 10;

/** Checks the body of insertOne. Throws a 400 that lists every problem. */
export function validateRecord(body: unknown, structure: Structure): RecordValues {
  const problems = new Problems();
  const values = readRecord(requireRecord(body), structure, problems.add);
  if (problems.found) throw invalidValue(problems.list());
  return values;
}

/** Checks the body of insert. Rejects with a 400 that lists every problem with the index of its record. */
export async function validateRecords(
  body: unknown,
  structure: Structure,
  signal: AbortSignal,
): Promise<readonly RecordValues[]> {
  if (!Array.isArray(body) || body.length === 0) {
    throw invalidBody('Request body should be a JSON array with at least one record');
  }
  const allowed = maxRecords(structure);
  if (body.length > allowed) {
    throw invalidBody(
      `Request body has ${body.length} records; at most ${allowed} of this structure are allowed at once`,
    );
  }
  const problems = new Problems();
  let malformed = false;
  const records: RecordValues[] = [];
  let at = 0;
  const complain: Complain = (problem) => problems.add(`${problem} (record at index ${at})`);
  const check = (item: unknown, index: number): void => {
    at = index;
    if (isRecord(item)) {
      records.push(readRecord(item, structure, complain));
    } else {
      malformed = true;
      complain('A record should be a JSON object with at least one field');
    }
  };
  await forEachYielding(body, check, signal);
  if (problems.found) throw (malformed ? invalidBody : invalidValue)(problems.list());
  const hashed = countHashedValues(records, structure);
  if (hashed > maxHashedValues) {
    throw invalidValue([`The records have ${hashed} hashed values; a request may have ${maxHashedValues}`]);
  }
  return records;
}

/** How many records of a structure one request may have, whatever the size of its body. */
export function maxRecords({ fields }: Pick<Structure, 'fields'>): number {
  let added = recordOverhead;
  for (const { name, defaultValue } of fields) {
    added += fieldOverhead + name.length + String(defaultValue ?? '').length;
  }
  return Math.max(1, Math.floor(maxAddedCharacters / added));
}

function readRecord(
  body: Readonly<Record<string, unknown>>,
  structure: Structure,
  complain: Complain,
): RecordValues {
  const { fields } = structure;
  // only one array a record: garbage was half of the cost of many records
  const values = givenValues(body, structure, complain);
  for (let place = 0; place < fields.length; place++) {
    const field = fields[place] as Field;
    const value = values[place];
    values[place] = isPlainValue(field, value) ? value : readOther(field, value, complain);
  }
  return values as RecordValues;
}

function readOther(field: Field, given: unknown, complain: Complain): StoredValue | null {
  const reading = readGiven(field, given);
  if ('value' in reading) return reading.value;
  const isMissing = reading === required;
  complain(`${isMissing ? '' : 'Value for '}Body field: ${shownName(field.name)} ${reading.problem}`);
  return null;
}

const required = { problem: 'is required' };

/** A value of a new record that is no plain one of its field's type, or is missing; a problem is the end of a sentence. */
export function readGiven(
  field: Field,
  given: unknown,
): { readonly value: StoredValue | null } | { readonly problem: string } {
  // null counts as missing
  const value = withoutEmptyText(field, given ?? null);
  if (value !== null) return readFieldValue(field, value);
  if (field.required && field.defaultValue === null && !field.filled) return required;
  return { value: field.defaultValue };
}

function countHashedValues(records: readonly RecordValues[], structure: Structure): number {
  const indexes = structure.fields.flatMap((field, index) => (field.hashed ? [index] : []));
  let count = 0;
  for (const values of records) for (const index of indexes) if (values[index] !== null) count++;
  return count;
}
