import { type Refusal, refusal } from './expected.ts';
import { type ModelField, type ModelValue, readValue, typeWord } from './model-field.ts';
import type { ModelRecord } from './model-space.ts';
import { fieldOf, type ModelStructure } from './model-structure.ts';

/** Whether a body may be a record, or changes of one. */
export function isRecordBody(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length > 0;
}

export interface ReadBody {
  readonly given: ReadonlyMap<ModelField, ModelValue | null>;
  /** Texts of problems as far as the contract fixes them. */
  readonly problems: readonly string[];
}

/** The values that a body gives to fields; null where it says null. */
function readBody(body: object, structure: ModelStructure): ReadBody {
  const given = new Map<ModelField, ModelValue | null>();
  const problems: string[] = [];
  for (const [key, value] of Object.entries(body)) {
    const field = fieldOf(structure, key);
    if (field === undefined) problems.push(`'${key}'`);
    else if (given.has(field)) problems.push(`'${field.name}'`);
    else {
      const none = value === null || isLeftOut(field, value);
      const read = none ? null : readValue(field.type, value);
      if (!none && read === null) {
        problems.push(`Value for Body field: '${field.name}' should be a valid ${typeWord[field.type]}`);
      }
      given.set(field, read);
    }
  }
  return { given, problems };
}

/** A number that may be missing, as a form sends it that nobody filled in. */
function isLeftOut({ type, required }: ModelField, value: unknown): boolean {
  return value === '' && type === 'NUMBER' && !required;
}

/** What an update sets; null clears. */
export function readChanges(body: object, structure: ModelStructure): ReadBody {
  const { given, problems } = readBody(body, structure);
  const cleared = [...given].filter(
    ([field, value]) => field.required && value === null && givenNull(body, field),
  );
  return { given, problems: [...problems, ...cleared.map(([{ name }]) => `'${name}'`)] };
}

/** A whole new record: defaults where a body has nothing. */
export function readNew(
  body: object,
  structure: ModelStructure,
): { readonly values: Map<string, ModelValue>; readonly problems: readonly string[] } {
  const { given, problems } = readBody(body, structure);
  const values = new Map<string, ModelValue>();
  const missing: string[] = [];
  for (const field of structure.fields) {
    // a value that does not fit is a problem already, and not missing
    if (given.has(field) && given.get(field) === null && !givenNull(body, field)) continue;
    const value = given.get(field) ?? field.defaultValue;
    if (value !== null) values.set(field.slug, value);
    else if (field.required) missing.push(`'${field.name}'`);
  }
  return { values, problems: [...problems, ...missing] };
}

/** Whether the first that a body says of a field is that it has no value. */
function givenNull(body: object, field: ModelField): boolean {
  const value: unknown = Object.entries(body).find(([key]) => key === field.name || key === field.slug)?.[1];
  return value === null || isLeftOut(field, value);
}

/**
 * Unique fields whose new value two of the new records have; where there are none, those whose new value another record
 * has: a request that contradicts itself is not compared with what is stored.
 */
export function takenFields(
  structure: ModelStructure,
  others: readonly ModelRecord[],
  added: readonly ReadonlyMap<string, ModelValue | null>[],
): string[] {
  const unique = structure.fields.filter((field) => field.unique);
  const valuesOf = ({ slug }: ModelField): ModelValue[] =>
    added.map((values) => values.get(slug) ?? null).filter((value) => value !== null);
  const repeated = unique.filter((field) => new Set(valuesOf(field)).size < valuesOf(field).length);
  const taken = unique.filter((field) => {
    const held = new Set(others.map(({ values }) => values.get(field.slug)));
    return valuesOf(field).some((value) => held.has(value));
  });
  return (repeated.length > 0 ? repeated : taken).map(({ name }) => name);
}

export function notUnique(names: readonly string[]): Refusal {
  return refusal(
    'not_unique',
    names.map((name) => `'${name}'`),
  );
}
