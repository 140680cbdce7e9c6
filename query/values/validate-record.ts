import { invalidBody, invalidValue } from '../../common/errors/catalogue.ts';
import { shownName } from '../shown-name.ts';
import type { StoredValue } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { readFieldValue } from './field-value.ts';
import { type Complain, givenFields, isRecord } from './given-fields.ts';

/** A record's values in the order of the structure's fields; null where there is none. */
export type RecordValues = readonly (StoredValue | null)[];

/** A body of a million bad records is not answered with as many texts. */
const listedProblems = 1000;
/** Hashing takes milliseconds of a core for each value. */
const maxHashedValues = 1000;

/** Checks the body of insertOne. Throws a 400 that lists every problem. */
export function validateRecord(body: unknown, structure: Structure): RecordValues {
  if (!isRecord(body)) throw invalidBody('Request body should be a JSON object with at least one field');
  const problems: string[] = [];
  const values = readRecord(body, structure, (problem) => void problems.push(problem));
  if (problems.length > 0) throw invalidValue(problems);
  return values;
}

/** Checks the body of insert. Throws a 400 that lists every problem with the index of its record. */
export function validateRecords(body: unknown, structure: Structure): readonly RecordValues[] {
  if (!Array.isArray(body) || body.length === 0) {
    throw invalidBody('Request body should be a JSON array with at least one record');
  }
  const problems: string[] = [];
  let malformed = false;
  const records = body.map((item: unknown, index) => {
    const complain: Complain = (problem) => void problems.push(`${problem} (record at index ${index})`);
    if (isRecord(item)) return readRecord(item, structure, complain);
    malformed = true;
    complain('A record should be a JSON object with at least one field');
    return [];
  });
  if (problems.length > 0) throw (malformed ? invalidBody : invalidValue)(shortened(problems));
  const hashed = countHashedValues(records, structure);
  if (hashed > maxHashedValues) {
    throw invalidValue([`The records have ${hashed} hashed values; a request may have ${maxHashedValues}`]);
  }
  return records;
}

function shortened(problems: readonly string[]): readonly string[] {
  if (problems.length <= listedProblems) return problems;
  return [...problems.slice(0, listedProblems), `and ${problems.length - listedProblems} more problems`];
}

function readRecord(body: object, structure: Structure, complain: Complain): RecordValues {
  const given = givenFields(body, structure, complain);
  return structure.fields.map((field) => {
    // null counts as missing
    const value = given.get(field) ?? null;
    if (value === null) {
      if (field.required && field.defaultValue === null) {
        complain(`Body field: ${shownName(field.name)} is required`);
      }
      return field.defaultValue;
    }
    const reading = readFieldValue(field.type, value);
    if ('value' in reading) return reading.value;
    complain(`Value for Body field: ${shownName(field.name)} ${reading.problem}`);
    return null;
  });
}

function countHashedValues(records: readonly RecordValues[], structure: Structure): number {
  const indexes = structure.fields.flatMap((field, index) => (field.hashed ? [index] : []));
  let count = 0;
  for (const values of records) for (const index of indexes) if (values[index] !== null) count++;
  return count;
}
