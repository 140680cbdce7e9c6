import { shownName } from '#kernel/errors/shown-name.ts';
import { nameProblem } from '#kernel/ids/slug.ts';
import { mostPrecision } from '../types/decimal.ts';
import {
  type FieldType,
  manyOf,
  readFieldValue,
  type TypedField,
  typeEntry,
  typeNames,
  typesThat,
} from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import { type Normalization, normalizations } from '../types/normalize.ts';
import { TimeZone } from '../types/time-zone.ts';
import { type Field, isSystemKey } from './field.ts';

// bytes of a header that are not UTF-8 become this
const replacement = '\uFFFD';

/** Reads one element of `recordStructure`, and adds its problems to `problems`. */
export function parseField(input: unknown, index: number, problems: string[]): Field | null {
  if (!isObject(input)) {
    problems.push(`The field at index ${index} of the structure is not an object`);
    return null;
  }
  const before = problems.length;
  const label =
    typeof input.name === 'string' && input.name !== '' ? shownName(input.name) : `at index ${index}`;
  const complain = (problem: string): void => void problems.push(`Field ${label} ${problem}`);

  for (const kind of ['name', 'slug'] as const) {
    const problem = wordProblem(kind, input[kind]);
    if (problem !== null) complain(problem);
  }
  const one = typeNames.find((known) => known === input.type);
  if (one === undefined) complain(typeProblem(input.type));
  const flag = (key: 'required' | 'unique' | 'hashed' | 'many'): boolean => {
    const value = input[key] ?? false;
    if (typeof value !== 'boolean') complain(`has a ${key} that is not true or false`);
    return value === true;
  };
  const type = one === undefined || !flag('many') ? one : manyOf(one);
  if (one !== undefined && type === undefined) complain('has many, which is for FILE');
  const normalize = readNormalize(input, complain);
  const digits = readDigits(input, complain);
  const timeZone = readTimeZone(input, complain);
  const field = {
    name: input.name as string,
    slug: input.slug as string,
    type: type as FieldType,
    required: flag('required'),
    unique: flag('unique'),
    hashed: flag('hashed'),
    ...(normalize.length === 0 ? {} : { normalize }),
    ...digits,
    ...(timeZone === null ? {} : { timeZone }),
    description: textOrEmpty(input.description),
    comment: textOrEmpty(input.comment),
    defaultValue:
      type === undefined ? null : readDefault({ type, normalize, ...digits }, input.defaultValue, complain),
    slot: null,
    keyed: false,
  };
  if (field.hashed && field.unique) {
    // each stored hash has its own salt, so equal values can't be recognised
    complain('is both hashed and unique: equal values of a hashed field can not be found');
  }
  if (type !== undefined && typeEntry(type).files !== undefined) {
    if (field.hashed) complain('is hashed, which a FILE can not be');
    if (field.defaultValue !== null) complain('has a defaultValue, which a FILE can not have');
  }
  return problems.length === before ? field : null;
}

function wordProblem(kind: 'name' | 'slug', word: unknown): string | null {
  if (word === undefined || word === null || word === '') return `lacks a ${kind}`;
  if (typeof word !== 'string') return `has a ${kind} that is not text`;
  if (isSystemKey(word)) {
    return `has the reserved ${kind} ${shownName(word)}: id, createdAt and updatedAt belong to every record`;
  }
  // the name may: it is only ever text
  if (kind === 'slug' && word === '__proto__') return `has the reserved slug ${shownName(word)}`;
  const problem = nameProblem(word);
  return problem === null ? null : `has a ${kind} that ${problem}`;
}

function typeProblem(type: unknown): string {
  const known = `one of ${typeNames.join(', ')}`;
  if (type === undefined || type === null) return `lacks a type: it should be ${known}`;
  return `has an unknown type${typeof type === 'string' ? ` ${shownName(type)}` : ''}: it should be ${known}`;
}

function readNormalize(
  { type, normalize }: Readonly<Record<string, unknown>>,
  complain: (problem: string) => void,
): readonly Normalization[] {
  const given: unknown = normalize ?? [];
  if (!Array.isArray(given) || given.some((step) => !(normalizations as readonly unknown[]).includes(step)))
    complain(`has a normalize that is not an array of ${normalizations.join(', ')}`);
  else if (given.length > 0 && !isText(type))
    complain(`has a normalize, which is for ${typesThat('text').join(', ')}`);
  else return normalizations.filter((step) => given.includes(step));
  return [];
}

const typesWithDigits = typeNames.filter((type) => typeEntry(type).hasDigits);

function hasDigits(type: unknown): boolean {
  return (typesWithDigits as readonly unknown[]).includes(type);
}

/** The most digits of a value, and how many of them are behind the point. */
function readDigits(
  { type, precision, scale }: Readonly<Record<string, unknown>>,
  complain: (problem: string) => void,
): Pick<Field, 'precision' | 'scale'> {
  const isWhole = (value: unknown, least: number, most: number): value is number =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
  if (!hasDigits(type)) {
    for (const [key, value] of Object.entries({ precision, scale }))
      if (value !== undefined && value !== null)
        complain(`has a ${key}, which is for ${typesWithDigits.join(', ')}`);
    return {};
  }
  if (!isWhole(precision, 1, mostPrecision))
    complain(`should have a precision: the most digits of its values, from 1 to ${mostPrecision}`);
  else if (!isWhole(scale, 0, precision))
    complain('should have a scale: the digits behind the point, from 0 to its precision');
  else return { precision, scale };
  return {};
}

/** Where the days of a DATE begin that becomes a DATETIME. Null: it is not said. */
function readTimeZone(
  { type, timeZone = null }: Readonly<Record<string, unknown>>,
  complain: (problem: string) => void,
): string | null {
  if (timeZone === null) return null;
  if (!(typesThat('zoned') as readonly unknown[]).includes(type))
    complain(`has a timeZone, which is for ${typesThat('zoned').join(', ')}`);
  else if (typeof timeZone === 'string' && TimeZone.named(timeZone) !== null) return timeZone;
  else complain('has a timeZone that is not the name of a time zone, such as Europe/Paris');
  return null;
}

function isText(type: unknown): boolean {
  return (typesThat('text') as readonly unknown[]).includes(type);
}

function readDefault(
  field: TypedField,
  value: unknown,
  complain: (problem: string) => void,
): Field['defaultValue'] {
  if (value === undefined || value === null) return null;
  const reading = readFieldValue(field, value);
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
