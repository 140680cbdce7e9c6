import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { nullable, type Schema, string } from '#kernel/json/schema.ts';
import { type ApiParameter, queryParameter } from '../openapi/api-operation.ts';
import type { QueryPairs } from './http-types.ts';

/** A query parameter of a list: how it is read, and its description. */
export interface ListParameter<Value> {
  readonly description: string;
  readonly schema: Schema;
  /** @param refuse reports a problem, as the end of a sentence about the parameter */
  readonly read: (text: string | undefined, refuse: (problem: string) => void) => Value;
}

type ListParameters = Readonly<Record<string, ListParameter<unknown>>>;
type ListQuery<Set extends ListParameters> = {
  readonly [Name in keyof Set]: Set[Name] extends ListParameter<infer Value> ? Value : never;
};

const mostProblems = 10;

/** The values of a query. Throws a 400 that names all its problems. */
export function readListQuery<Set extends ListParameters>(
  parameters: Set,
  query: QueryPairs,
): ListQuery<Set> {
  const problems: string[] = [];
  const refuse = (problem: string): void => {
    if (problems.length < mostProblems) problems.push(problem);
  };
  const texts = new Map<string, string>();
  for (const [name, text] of query) {
    if (!Object.hasOwn(parameters, name)) {
      const known = Object.keys(parameters).join(', ');
      refuse(`${JSON.stringify(name.slice(0, 80))} is not a parameter: use ${known}`);
    } else if (texts.has(name)) refuse(`${name} should be there once`);
    else texts.set(name, text);
  }
  const values = Object.entries(parameters).map(([name, { read }]) => [
    name,
    read(texts.get(name), (problem) => refuse(`${name} ${problem}`)),
  ]);
  if (problems.length > 0) throw invalidCondition(problems);
  return Object.fromEntries(values) as ListQuery<Set>;
}

export function describeList(parameters: ListParameters): readonly ApiParameter[] {
  return Object.entries(parameters).map(([name, { description, schema }]) =>
    queryParameter(name, description, schema),
  );
}

/** The cursor of the next page. */
export const nextPage: Schema = nullable({
  type: 'string',
  description: 'The `after` of the next page; null: there is none',
});

const limits = { usual: 50, most: 200 } as const;

/** The page size. */
export const limitParameter: ListParameter<number> = {
  description: 'How many at most',
  schema: { type: 'integer', minimum: 1, maximum: limits.most, default: limits.usual },
  read(text = String(limits.usual), refuse) {
    const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (limit < 1 || limit > limits.most) refuse(`should be a whole number from 1 to ${limits.most}`);
    return limit;
  },
};

/** @param problemOf returns the problem of a text, or null */
export function textParameter(
  description: string,
  schema: Schema,
  problemOf: (text: string) => string | null,
): ListParameter<string | undefined> {
  return {
    description,
    schema: { type: 'string', ...schema },
    read(text, refuse) {
      const problem = text === undefined ? null : problemOf(text);
      if (problem !== null) refuse(problem);
      return text;
    },
  };
}

/** Part of a name. */
export function partParameter(description: string, longest: number): ListParameter<string | undefined> {
  return textParameter(description, { minLength: 1, maxLength: longest }, (text) =>
    text === '' || text.length > longest ? `should have 1 to ${longest} characters` : null,
  );
}

/** One of a few words. */
export function choiceParameter<Word extends string>(
  description: string,
  words: readonly Word[],
  fallback: Word,
): ListParameter<Word> {
  return {
    description,
    schema: { type: 'string', enum: words, default: fallback },
    read(text, refuse) {
      const word = words.find((each) => each === text);
      if (text !== undefined && word === undefined) refuse(`should be ${words.join(' or ')}`);
      return word ?? fallback;
    },
  };
}

const dayPattern = /^(19[7-9]\d|2[01]\d\d)-\d\d-\d\d$/;
// RFC 3339 section 5.6
const momentPattern = /^(19[7-9]\d|2[01]\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const isFiner = /\.\d{3}\d*[1-9]/;
const dayLength = 24 * 3600 * 1000;

/** A day (UTC), as text. */
export function dayParameter(description: string): ListParameter<string | undefined> {
  return textParameter(description, { format: 'date' }, (text) =>
    isDay(text) ? null : 'should be a day such as 2026-11-22',
  );
}

/** The start (`first`) or end (`last`) of a range of times; for a day (UTC), its first or last moment. */
export function momentParameter(
  description: string,
  ofDay: 'first' | 'last',
): ListParameter<Date | undefined> {
  return {
    // generators have no type for either
    description: `${description}, such as 2026-11-22 or 2026-11-22T10:00:00Z`,
    schema: string,
    read(text, refuse) {
      if (text === undefined) return undefined;
      if (isDay(text)) return new Date(Date.parse(text) + (ofDay === 'first' ? 0 : dayLength - 1));
      const time = momentPattern.test(text) ? new Date(text) : new Date(Number.NaN);
      // listed items have times in milliseconds
      if (ofDay === 'first' && isFiner.test(text)) time.setTime(time.getTime() + 1);
      if (!Number.isNaN(time.getTime())) return time;
      refuse('should be a day or a time such as 2026-11-22T10:00:00Z');
      return undefined;
    },
  };
}

function isDay(text: string): boolean {
  if (!dayPattern.test(text)) return false;
  const time = new Date(text);
  // some engines parse 30 February as a day in March
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}
