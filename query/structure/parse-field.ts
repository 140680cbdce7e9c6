import { shownName } from '../../common/errors/shown-name.ts';
import { type Field, type FieldType, fieldTypes, isSystemKey } from './field.ts';
import { hasLoneSurrogate, readFieldValue } from './field-value.ts';

export const fieldSlugPattern = /^[A-Za-z0-9-][A-Za-z0-9_-]{0,62}$/;
export const longestName = 128;
const controlCharacter = /\p{Cc}/u;
// what a header's bytes become when they are not UTF-8
const replacement = '\uFFFD';

/** Reads one element of `recordStructure`, and adds what is wrong with it to `problems`. */
export function parseField(input: unknown, index: number, problems: string[]): Field | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    problems.push(`The field at index ${index} of the structure is not an object`);
    return null;
  }
  const raw = input as Readonly<Record<string, unknown>>;
  const before = problems.length;
  const label = typeof raw.name === 'string' && raw.name !== '' ? shownName(raw.name) : `at index ${index}`;
  const complain = (problem: string): void => void problems.push(`Field ${label} ${problem}`);

  const nameIsWrong = nameProblem(raw.name);
  if (nameIsWrong !== null) complain(nameIsWrong);
  const slugIsWrong = slugProblem(raw.slug);
  if (slugIsWrong !== null) complain(slugIsWrong);
  const type = fieldTypes.find((known) => known === raw.type);
  if (type === undefined) complain(typeProblem(raw.type));
  const flag = (key: 'required' | 'unique' | 'hashed'): boolean => {
    const value = raw[key] ?? false;
    if (typeof value !== 'boolean') complain(`has a ${key} that is not true or false`);
    return value === true;
  };
  const field = {
    name: raw.name as string,
    slug: raw.slug as string,
    type: type as FieldType,
    required: flag('required'),
    unique: flag('unique'),
    hashed: flag('hashed'),
    description: textOrEmpty(raw.description),
    comment: textOrEmpty(raw.comment),
    defaultValue: type === undefined ? null : readDefault(type, raw.defaultValue, complain),
    slot: null,
    keyed: false,
  };
  if (field.hashed && field.unique) {
    // each stored hash has a salt of its own, so equal values can't be told
    complain('is both hashed and unique: equal values of a hashed field can not be found');
  }
  return problems.length === before ? field : null;
}

function nameProblem(name: unknown): string | null {
  if (name === undefined || name === null || name === '') return 'lacks a name';
  if (typeof name !== 'string') return 'has a name that is not text';
  if (isSystemKey(name)) return 'has a reserved name: id, createdAt and updatedAt belong to every record';
  if (name.length > longestName) return `has a name of more than ${longestName} characters`;
  if (controlCharacter.test(name)) return 'has control characters in its name';
  if (name.includes(replacement) || hasLoneSurrogate(name)) return 'has a name that is not valid UTF-8';
  return null;
}

function slugProblem(slug: unknown): string | null {
  if (slug === undefined || slug === null || slug === '') return 'lacks a slug';
  if (typeof slug !== 'string') return 'has a slug that is not text';
  if (isSystemKey(slug)) return `has the reserved slug ${shownName(slug)}`;
  if (fieldSlugPattern.test(slug)) return null;
  return `has the slug ${shownName(slug)}: use 1 to 63 letters, digits, "_" and "-", not starting with "_"`;
}

function typeProblem(type: unknown): string {
  const known = `one of ${fieldTypes.join(', ')}`;
  if (type === undefined || type === null) return `lacks a type: it should be ${known}`;
  return `has an unknown type${typeof type === 'string' ? ` ${shownName(type)}` : ''}: it should be ${known}`;
}

function readDefault(
  type: FieldType,
  value: unknown,
  complain: (problem: string) => void,
): Field['defaultValue'] {
  if (value === undefined || value === null) return null;
  const reading = readFieldValue(type, value);
  if ('problem' in reading) {
    complain(`has a defaultValue that ${reading.problem}`);
    return null;
  }
  if (typeof reading.value === 'string' && reading.value.includes(replacement)) {
    complain('has a defaultValue that is not valid UTF-8: write such characters as \\u escapes');
    return null;
  }
  return reading.value;
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
