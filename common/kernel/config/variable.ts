import { readFileSync } from 'node:fs';

/** An environment variable, explained by docs/configuration.md. */
export interface Variable<Value = unknown> {
  readonly name: string;
  /** Its default, as the page shows it. */
  readonly shown: string;
  /** The range of its values, in words; empty: any text. */
  readonly values: string;
  /** @param text undefined: not set. Problems of the text are added to `problems`. */
  readonly read: VariableReader<Value>;
}

export type VariableReader<Value> = (text: string | undefined, problems: string[]) => Value;

/** Variables by their names in the code, in groups. */
export interface Variables {
  readonly [key: string]: Variable | Variables;
}

/** The values of variables. */
export type Values<Set extends Variables> = {
  readonly [Key in keyof Set]: Set[Key] extends Variable<infer Value>
    ? Value
    : Set[Key] extends Variables
      ? Values<Set[Key]>
      : never;
};

/** A heading of docs/configuration.md. */
export interface Section<Set extends Variables = Variables> {
  readonly title: string;
  readonly variables: Set;
}

/** The source of variables, and the problems found in them. */
export interface ReadContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly problems: string[];
}

export function readVariables<Set extends Variables>(variables: Set, context: ReadContext): Values<Set> {
  const { env, problems } = context;
  const read = Object.entries(variables).map(([key, one]) => [
    key,
    // an empty variable counts as not set
    isVariable(one) ? one.read(env[one.name] || undefined, problems) : readVariables(one, context),
  ]);
  return Object.freeze(Object.fromEntries(read)) as Values<Set>;
}

export function listVariables(variables: Variables): readonly Variable[] {
  return Object.values(variables).flatMap((one) => (isVariable(one) ? [one] : listVariables(one)));
}

function isVariable(one: Variable | Variables): one is Variable {
  return typeof one.read === 'function';
}

/** Adds a problem for each variable that is set but would be ignored. */
export function refuseSet({ env, problems }: ReadContext, variables: Variables, reason: string): void {
  for (const { name } of listVariables(variables)) {
    if (env[name]) problems.push(`${name} is set, but ${reason}`);
  }
}

export function variable<Value>(
  name: string,
  read: VariableReader<Value>,
  { shown = '-', values = '' }: Partial<Pick<Variable, 'shown' | 'values'>> = {},
): Variable<Value> {
  return { name, shown, values, read };
}

interface VariableOptions<Value, Fallback> {
  /** Undefined: the text is invalid. */
  readonly parse: (text: string) => Value | undefined;
  /** The expected form, as the end of a sentence. */
  readonly form: string;
  readonly fallback: Fallback;
  readonly values?: string;
  /** Absent: the fallback itself. */
  readonly shown?: string | undefined;
  /** No message quotes the text. */
  readonly secret?: boolean;
}

/** A variable whose text is parsed. */
export function parsed<Value, Fallback>(
  name: string,
  { parse, form, fallback, secret = false, values = '', shown }: VariableOptions<Value, Fallback>,
): Variable<Value | Fallback> {
  const read: VariableReader<Value | Fallback> = (given, problems) => {
    if (given === undefined) return fallback;
    const value = parse(given);
    const label = secret ? name : `${name} is ${JSON.stringify(given)}: it`;
    if (value === undefined) problems.push(`${label} should be ${form}`);
    return value ?? fallback;
  };
  return variable(name, read, { shown: shown ?? String(fallback ?? '-'), values });
}

/** @param shown the default, if it is not the fallback */
export function integer<Fallback extends number | undefined>(
  name: string,
  fallback: Fallback,
  [min, max]: readonly [min: number, max: number],
  shown?: string,
): Variable<number | Fallback> {
  const parse = (text: string): number | undefined => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  };
  const form = `a whole number from ${min} to ${max}`;
  return parsed(name, { parse, form, fallback, values: `${min} to ${max}`, shown });
}

const flags: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

export function flag<Fallback extends boolean | undefined>(
  name: string,
  fallback: Fallback,
  shown?: string,
): Variable<boolean | Fallback> {
  const parse = (text: string): boolean | undefined => (Object.hasOwn(flags, text) ? flags[text] : undefined);
  return parsed(name, { parse, form: 'true or false', fallback, values: 'true, false', shown });
}

export function oneOf<Value extends string, Fallback extends Value | undefined>(
  name: string,
  fallback: Fallback,
  allowed: readonly Value[],
  shown?: string,
): Variable<Value | Fallback> {
  const values = allowed.join(', ');
  const parse = (text: string): Value | undefined => allowed.find((value) => value === text);
  return parsed(name, { parse, form: `one of ${values}`, fallback, values, shown });
}

interface TextKind<Fallback> {
  readonly fallback?: Fallback;
  readonly shown?: string;
  /** A test of the value, and the expected form in words. */
  readonly fits?: (text: string) => boolean;
  readonly form?: string;
  readonly secret?: boolean;
}

export function text<Fallback extends string | undefined = undefined>(
  name: string,
  { fallback, fits = () => true, form = '', ...more }: TextKind<Fallback> = {},
): Variable<string | Fallback> {
  const parse = (given: string): string | undefined => (fits(given) ? given : undefined);
  return parsed(name, { ...more, parse, form, fallback: fallback as Fallback });
}

/** An absolute http(s) URL without query or fragment; no trailing slash in the result. */
export function baseUrl(name: string, shown?: string): Variable<string | undefined> {
  const parse = (given: string): string | undefined =>
    isBaseUrl(given) ? given.replace(/\/+$/, '') : undefined;
  return parsed(name, { parse, form: 'an http or https address without query', fallback: undefined, shown });
}

export function isBaseUrl(given: string): boolean {
  const url = URL.canParse(given) ? new URL(given) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
}

/**
 * A comma-separated list, each item trimmed.
 * @param parse returns undefined for an invalid item
 * @param form of each, as the end of a sentence
 */
export function list<Item, Fallback extends readonly Item[] | undefined>(
  name: string,
  fallback: Fallback,
  { parse, form }: Pick<VariableOptions<Item, Fallback>, 'parse' | 'form'>,
): Variable<readonly Item[] | Fallback> {
  const read: VariableReader<readonly Item[] | Fallback> = (given, problems) => {
    if (given === undefined) return fallback;
    const items = given.split(',').map((item) => item.trim());
    return items.filter(Boolean).flatMap((item) => {
      const value = parse(item);
      if (value === undefined) problems.push(`${name} has ${JSON.stringify(item)}: it should be ${form}`);
      return value === undefined ? [] : [value];
    });
  };
  return variable(name, read, { shown: fallback?.join(',') || '-' });
}

/** The text of a file that a variable names; undefined: it can't be read. */
export function readFileOf({ name }: Variable, path: string, problems: string[]): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    problems.push(`${name} is ${JSON.stringify(path)}: it can't be read (${code})`);
    return undefined;
  }
}
