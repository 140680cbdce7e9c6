import type { Comparison, Filter } from '#records/input/filters/filter.ts';
import { filterTest } from '#records/input/filters/filter-test.ts';
import type { GivenComparison, GivenFilter } from '#records/input/filters/given-filter.ts';
import { asFilter, type Conditions } from '#records/input/parse-conditions.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { textIn, valueIn } from '#records/store/row-test.ts';
import { isSystemKey } from '#records/structure/field.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { Structure } from '#records/structure/structure.ts';
import { verbs } from '../space/open-space.ts';
import { type Allowed, comparisonsIn, type Rules } from './rules.ts';

/** What each operation reaches: all, none, or what matches conditions, in words. */
export type Reach<Name extends string = Family> = Readonly<
  Record<Name, 'all' | 'none' | { readonly where: string }>
>;

/** @param isUser false: a stranger */
export function reachOf<Name extends string = Family>(
  { allow }: { readonly allow: Readonly<Record<Name, Allowed>> },
  isUser: boolean,
): Reach<Name> {
  return Object.fromEntries(
    Object.entries<Allowed>(allow).map(([name, allowed]) => {
      const parts = allowed === null ? null : wordsOf(allowed === true ? [] : allowed, isUser, false);
      if (parts === null) return [name, 'none'] as const;
      return [name, parts === '' ? 'all' : { where: parts }] as const;
    }),
  ) as Reach<Name>;
}

/** Conditions in words, joined by `and`; empty: they always match; null: they never match. */
function wordsOf(given: readonly GivenFilter[], isUser: boolean, inGroup: boolean): string | null {
  const parts = given.map((one) => partOf(one, isUser));
  if (parts.includes(null)) return null;
  const words = parts.filter((part) => part !== '');
  return inGroup && words.length > 1 ? `(${words.join(' and ')})` : words.join(' and ');
}

function partOf(given: GivenFilter, isUser: boolean): string | null {
  if ('problem' in given) return null;
  if (!('group' in given)) return comparisonWords(given, isUser);
  const branches = given.branches.map((branch) => wordsOf(branch, isUser, true));
  switch (given.group) {
    case 'all':
      return branches.includes(null) ? null : branches.filter((branch) => branch !== '').join(' and ');
    case 'any': {
      const left = branches.filter((branch) => branch !== null);
      if (left.length === 0) return null;
      if (left.includes('')) return '';
      return left.length === 1 ? (left[0] as string) : `(${left.join(' or ')})`;
    }
    case 'none': {
      if (branches.includes('') || mentionsUser(given, isUser)) return null;
      const left = branches.filter((branch) => branch !== null);
      return left.length === 0 ? '' : `not (${left.join(' or ')})`;
    }
  }
}

/** Whether a condition lacks its value without a user. Then its opposite does not match either. */
function mentionsUser(given: GivenFilter, isUser: boolean): boolean {
  if (isUser) return false;
  if ('group' in given)
    return given.branches.some((branch) => branch.some((one) => mentionsUser(one, isUser)));
  return !('problem' in given) && JSON.stringify(given.operand).includes('"$user.');
}

function comparisonWords(given: GivenComparison, isUser: boolean): string | null {
  if (mentionsUser(given, isUser)) return null;
  const { name, operator, operand } = given;
  const value = 'texts' in operand ? operand.texts[0] : operand.json;
  // every record has the system fields
  if (operator === 'exists' && isSystemKey(name)) return value === true || value === 'true' ? '' : null;
  return `${name} ${operator === 'eq' ? '=' : operator} ${valueWords(value)}`;
}

function valueWords(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The warning for an operation that is open to everybody. */
export function everybodyMay(operation: Family): string {
  return `Everybody can ${verbs[operation]} ${operation === 'insert' ? '' : 'all '}records, without logging in`;
}

/** Warnings about rules that their author may not have meant. @param users null: the space does not exist */
export function warningsOf(rules: Rules, { fields }: Structure, users: Structure | null): string[] {
  const stranger = reachOf(rules, false);
  const open = families.filter(
    (name) => stranger[name] === 'all' && !(name === 'insert' && insertsOnlyBySignUp(rules)),
  );
  const impossible = fields.filter(
    ({ slug, required, defaultValue }) =>
      required &&
      defaultValue === null &&
      rules.readonly.includes(slug) &&
      slug !== rules.signUp?.email.slug &&
      ![...rules.set.keys()].some((set) => set.slug === slug),
  );
  const warnings = open.map(everybodyMay);
  if (users === null && rules.variables.some((variable) => variable.startsWith('$user')))
    warnings.push(`The record space of users (${rules.users}) does not exist: nobody can log in`);
  for (const { name } of impossible)
    warnings.push(`No record can be inserted: the field ${name} is required, and readonly`);
  if (rules.allow.insert !== null && rules.allow.find === null && rules.allow.update !== null)
    warnings.push('No record can be changed: nobody can find one');
  return warnings;
}

/** The conditions that have no value without a user, in words. For users: those that a user without a value never meets. */
export function lackingWords(allowed: Allowed, isUser: boolean): string[] {
  if (allowed === true || allowed === null) return [];
  const lacking = [...comparisonsIn(allowed)].filter((one) =>
    isUser ? /"\$user\.(?!id")/.test(JSON.stringify(one.operand)) : mentionsUser(one, false),
  );
  const why = isUser ? 'no match without a value of the user' : 'nobody is logged in';
  return [...new Set(lacking.map((one) => `${comparisonWords(one, true)}: ${why}`))];
}

/** Whether each record needs an address that only a sign-up may set. */
function insertsOnlyBySignUp({ signUp }: Rules): boolean {
  if (signUp === null || signUp.verified === null) return false;
  return signUp.email.required && signUp.email.defaultValue === null;
}

/** Why a record matches conditions, or does not. @param lacking what stands for conditions without a value */
export function reasons(
  conditions: Conditions,
  row: StoredRow,
  lacking: readonly string[],
): { readonly met: boolean; readonly why: string[] } {
  const filters = [...conditions.plain.map(asFilter), ...conditions.others];
  const { met, why } = reasonsOf({ group: 'all', branches: filters }, row, lacking);
  return { met, why: [...new Set(why)] };
}

function reasonsOf(
  filter: Filter,
  row: StoredRow,
  lacking: readonly string[],
): { readonly met: boolean; readonly why: readonly string[] } {
  const met = filterTest(filter, valueIn)(row);
  if (!('group' in filter)) {
    // what stands for such a condition compares the id (rules.ts)
    const isLacking = lacking.length > 0 && filter.target === 'id' && isStandIn(filter);
    return { met, why: isLacking ? lacking : [comparedWords(filter, row)] };
  }
  const branches = filter.branches.map((branch) => reasonsOf(branch, row, lacking));
  // only the branches that decide the result are reasons
  const wanted = filter.group === 'none' ? !met : met;
  const decisive = branches.filter((branch) => branch.met === wanted);
  return { met, why: (decisive.length > 0 ? decisive : branches).flatMap(({ why }) => why) };
}

/** Whether it is givenNever or givenAlways. */
function isStandIn({ operator, values: [value] }: Pick<Comparison, 'operator' | 'values'>): boolean {
  return operator === 'exists' ? value === true : operator === 'eq' && value === '';
}

function comparedWords(
  { target, path, operator, values }: Exclude<Filter, { group: unknown }>,
  row: StoredRow,
): string {
  const name = [typeof target === 'string' ? target : target.name, ...path].join('.');
  const wanted = values.map((value) => (value instanceof Date ? value.toISOString() : JSON.stringify(value)));
  const text = textIn(row, target);
  const is = text === undefined ? 'has no value' : `is ${text}`;
  return `${name} ${is}; the rule says ${operator === 'eq' ? '=' : operator} ${wanted.join(', ')}`;
}
