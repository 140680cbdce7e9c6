import { ApiError } from '#kernel/errors/api-error.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { spaceSlugProblem } from '#kernel/ids/slug.ts';
import {
  type GivenComparison,
  type GivenFilter,
  givenAlways,
  givenNever,
} from '#records/input/filters/given-filter.ts';
import { subjectOf } from '#records/input/filters/names.ts';
import { type Conditions, parseConditions } from '#records/input/parse-conditions.ts';
import type { Field } from '#records/structure/field.ts';
import type { Bound } from '#records/structure/record-space.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import { type FieldType, readFieldValue, typeEntry, typeOfIds } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { readBodyConditions } from '../input/read-body-conditions.ts';
import { readSignUp, type SignUpSettings } from './sign-up-settings.ts';

/** What an operation may touch: conditions, `true` for everything, or null: nobody may. */
export type Allowed = readonly GivenFilter[] | true | null;

/** The rules of a record space (docs/security.md#rules). */
export interface Rules {
  readonly allow: Readonly<Record<Family, Allowed>>;
  /** The slug of the space of the users. */
  readonly users: string;
  readonly set: ReadonlyMap<Field, unknown>;
  /** Slugs. Also of fields that only a mail proves. */
  readonly readonly: readonly string[];
  readonly hidden: readonly string[];
  /** Null: nobody can sign up. */
  readonly signUp: SignUpSettings | null;
  /** The names in values, such as `$user.id`. */
  readonly variables: readonly string[];
}

/** Values of the variables in rules. */
export interface RuleValues {
  readonly user: { readonly id: string; readonly values: Readonly<Record<string, unknown>> } | null;
  readonly now: Date;
}

export const usersByDefault = 'users';
const keys: readonly string[] = [...families, 'users', 'set', 'readonly', 'hidden', 'signUp'];
/** Most characters of a space's rules. */
export const longestRules = 32_768;

/** Reads rules against the stored structure of their space. If it adds problems, the result must not be used. */
export function readRules(input: unknown, structure: Structure, problems: string[]): Rules {
  const given = isObject(input) ? input : {};
  if (!isObject(input)) problems.push('Rules should be a JSON object');
  if (JSON.stringify(input ?? null).length > longestRules)
    problems.push(`Rules have more than ${longestRules} characters`);
  for (const key of Object.keys(given))
    if (!keys.includes(key)) problems.push(`Rules have no ${shownName(key)}, only ${keys.join(', ')}`);
  const variables = new Set<string>();
  const allow = Object.fromEntries(
    families.map((name) => [
      name,
      readAllowed({ name, all: 'records' }, given[name], structure, variables, problems),
    ]),
  ) as Record<Family, Allowed>;
  const { users = usersByDefault } = given;
  if (typeof users !== 'string' || spaceSlugProblem(users) !== null)
    problems.push('users should be the slug of the record space that holds the users');
  const lists = { readonly: given.readonly ?? [], hidden: given.hidden ?? [] };
  const [readonly, hidden] = Object.entries(lists).map(([key, list]) =>
    readFields(key, list, structure, problems).map(({ slug }) => slug),
  ) as [string[], string[]];
  const set = readSet(given.set ?? {}, structure, variables, problems);
  const signUp = readSignUp(given.signUp, structure, problems);
  const proven = signUp?.verified ? [signUp.email, signUp.verified].filter(Boolean) : [];
  for (const { slug, name } of proven) {
    readonly.push(slug);
    if ([...set.keys()].some((field) => field.slug === slug))
      problems.push(`set names the field ${shownName(name)}, which signUp sets`);
  }
  const names = [...variables].sort();
  return { allow, users: String(users), set, readonly, hidden, signUp, variables: names };
}

/** @param operation its name, and the plural of what it touches */
export function readAllowed(
  { name, all }: { readonly name: string; readonly all: string },
  given: unknown,
  structure: Structure,
  variables: Set<string>,
  problems: string[],
): Allowed {
  if (given === undefined || given === null || given === false) return null;
  if (given === true) return true;
  const refused = `${name} should be conditions, or true for all ${all}, or be left out for none`;
  if (typeof given !== 'object' || Object.keys(given).length === 0) {
    problems.push(refused);
    return null;
  }
  let items: readonly GivenFilter[];
  try {
    items = readBodyConditions(given, structure);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    problems.push(refused);
    return null;
  }
  for (const one of comparisonsIn(items))
    for (const text of textsOf(one)) if (isVariable(text)) variables.add(text);
  return items;
}

function readSet(
  input: unknown,
  structure: Structure,
  variables: Set<string>,
  problems: string[],
): ReadonlyMap<Field, unknown> {
  if (!isObject(input)) problems.push('set should be an object of fields and their values');
  const set = new Map<Field, unknown>();
  for (const [name, value] of Object.entries(isObject(input) ? input : {})) {
    const [field] = readFields('set', [name], structure, problems);
    if (field === undefined) continue;
    if (field.hashed) problems.push(`set names the field ${shownName(name)}, which is hashed`);
    if (typeof value === 'string' && isVariable(value)) variables.add(value);
    set.set(field, value);
  }
  return set;
}

function readFields(key: string, list: unknown, { lookup }: Structure, problems: string[]): readonly Field[] {
  if (!Array.isArray(list)) {
    problems.push(`${key} should be an array of fields`);
    return [];
  }
  return (list as readonly unknown[]).flatMap((name) => {
    const field = typeof name === 'string' ? lookup.get(name) : undefined;
    if (field === undefined)
      problems.push(`${key} names ${shownName(String(name))}, which is not a field of the structure`);
    return field ?? [];
  });
}

/** Any text that begins with `$` is a variable: a misspelled variable must not become a value. */
export function isVariable(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith('$');
}

export function textsOf({ operand }: GivenComparison): readonly unknown[] {
  if ('texts' in operand) return operand.texts;
  return Array.isArray(operand.json) ? (operand.json as readonly unknown[]) : [operand.json];
}

export function* comparisonsIn(given: readonly GivenFilter[]): Generator<GivenComparison> {
  for (const one of given) {
    if ('group' in one) for (const branch of one.branches) yield* comparisonsIn(branch);
    else if (!('problem' in one)) yield one;
  }
}

/** The rules with the values of one user. Adds problems that the values cause. @param structure the stored one */
export function bindRules(rules: Rules, structure: Structure, values: RuleValues, problems: string[]): Bound {
  const conditionsOf = (name: Family): Conditions | null => {
    const allowed = rules.allow[name];
    if (allowed === null) return null;
    const given = allowed === true ? [] : allowed.map((one) => filledIn(one, structure, values, false));
    try {
      const conditions = parseConditions(given, structure, 'And');
      for (const { field } of conditions.hashed)
        problems.push(`${name} compares ${shownName(field.name)}, which is hashed`);
      return conditions;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      problems.push(...error.problems.map((problem) => `${name}: ${problem}`));
      return null;
    }
  };
  const set = new Map<string, StoredValue | null>();
  for (const [field, given] of rules.set) {
    const value = isVariable(given) ? variableValue(given, field.type, values) : given;
    const reading = value === undefined || value === null ? { value: null } : readFieldValue(field, value);
    if ('problem' in reading) problems.push(`set: the value of ${shownName(field.name)} ${reading.problem}`);
    else set.set(field.slug, reading.value);
  }
  const { readonly } = rules;
  return {
    user: values.user?.id ?? null,
    users: rules.users,
    ...(Object.fromEntries(families.map((name) => [name, conditionsOf(name)])) as Record<
      Family,
      Conditions | null
    >),
    isTimed: JSON.stringify(rules.allow.find).includes('"$now'),
    set,
    readonly,
  };
}

/**
 * A condition with the values of its variables. If a variable has no value, neither the condition nor its opposite matches.
 * @param negated within an odd number of `$not`
 */
function filledIn(
  given: GivenFilter,
  structure: Structure,
  values: RuleValues,
  negated: boolean,
): GivenFilter {
  if ('problem' in given) return given;
  if ('group' in given) {
    const inner = given.group === 'none' ? !negated : negated;
    const branches = given.branches.map((branch) =>
      branch.map((one) => filledIn(one, structure, values, inner)),
    );
    return { ...given, branches };
  }
  if (!textsOf(given).some(isVariable)) return given;
  const target = subjectOf(given.name, structure)?.target;
  const type = typeof target === 'object' ? target.type : typeOfIds;
  const fill = (value: unknown): unknown => (isVariable(value) ? variableValue(value, type, values) : value);
  const { operand } = given;
  const json = 'texts' in operand ? fill(operand.texts[0]) : filled(operand.json, fill);
  const isLacking = (Array.isArray(json) ? (json as readonly unknown[]) : [json]).includes(undefined);
  return isLacking ? (negated ? givenAlways : givenNever) : { ...given, operand: { json } };
}

function filled(json: unknown, fill: (value: unknown) => unknown): unknown {
  return Array.isArray(json) ? (json as readonly unknown[]).map(fill) : fill(json);
}

/** The value of a variable; undefined: none. @param type of the field; times are compared as TEXT */
function variableValue(variable: string, type: FieldType, { user, now }: RuleValues): unknown {
  if (variable === '$now') return typeEntry(type).now?.(now) ?? now.toISOString();
  if (user === null) return undefined;
  if (variable === '$user.id') return user.id;
  const name = variable.slice('$user.'.length);
  return Object.hasOwn(user.values, name) ? (user.values[name] ?? undefined) : undefined;
}

/** Problems of variables: only `$now`, `$user.id` and fields of the users are allowed. @param users null: the space does not exist yet */
export function variableProblems({ variables, users: slug }: Rules, users: Structure | null): string[] {
  return variables.flatMap((variable) => {
    if (variable === '$now' || variable === '$user.id') return [];
    if (!variable.startsWith('$user.'))
      return [`${shownName(variable)} is not a variable: use $user.id, $user.<field> or $now`];
    if (users === null) return [];
    const field = users.lookup.get(variable.slice('$user.'.length));
    if (field === undefined) return [`${shownName(variable)} is not a field of the record space ${slug}`];
    return field.hashed ? [`${shownName(variable)} is a hashed field`] : [];
  });
}

/** A user with a value in each field, for checking the types that rules compare. */
export function exampleUser(users: Structure | null): NonNullable<RuleValues['user']> {
  const entries = (users?.fields ?? []).flatMap(({ name, slug, type }) => [
    [name, typeEntry(type).example] as const,
    [slug, typeEntry(type).example] as const,
  ]);
  return { id: 'a-user', values: Object.fromEntries(entries) };
}
