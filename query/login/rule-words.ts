import type { Filter } from '#records/input/filters/filter.ts';
import { filterTest } from '#records/input/filters/filter-test.ts';
import type { GivenComparison, GivenFilter } from '#records/input/filters/given-filter.ts';
import { asFilter, type Conditions } from '#records/input/parse-conditions.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { textIn, valueIn } from '#records/store/row-test.ts';
import { isSystemKey } from '#records/structure/field.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { Structure } from '#records/structure/structure.ts';
import { verbs } from '../space/open-space.ts';
import type { Rules } from './rules.ts';

/** What somebody may do with which records of a space: `all`, none, or those that meet conditions, in words. */
export type Reach = Readonly<Record<Family, 'all' | 'none' | { readonly where: string }>>;

/** @param isUser whether somebody has logged in */
export function reachOf({ allow }: Pick<Rules, 'allow'>, isUser: boolean): Reach {
  return Object.fromEntries(
    families.map((name) => {
      const allowed = allow[name];
      const parts = allowed === null ? null : wordsOf(allowed === true ? [] : allowed, isUser, false);
      if (parts === null) return [name, 'none'] as const;
      return [name, parts === '' ? 'all' : { where: parts }] as const;
    }),
  ) as Reach;
}

/** Conditions in words, joined by `and`; empty: always met; null: never. */
function wordsOf(given: readonly GivenFilter[], isUser: boolean, inGroup: boolean): string | null {
  const parts = given.map((one) => partOf(one, isUser));
  if (parts.includes(null)) return null;
  const said = parts.filter((part) => part !== '');
  return inGroup && said.length > 1 ? `(${said.join(' and ')})` : said.join(' and ');
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

/** Whether a condition lacks its value: then its opposite is not met either. */
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
  // every record has these
  if (operator === 'exists' && isSystemKey(name)) return value === true || value === 'true' ? '' : null;
  return `${name} ${operator === 'eq' ? '=' : operator} ${valueWords(value)}`;
}

function valueWords(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The warning of an operation that is open. */
export function everybodyMay(operation: Family): string {
  return `Everybody can ${verbs[operation]} ${operation === 'insert' ? '' : 'all '}records, without logging in`;
}

/** What the author of rules may not have meant. @param users null: there is no such space */
export function warningsOf(rules: Rules, { fields }: Structure, users: Structure | null): string[] {
  const stranger = reachOf(rules, false);
  const open = families.filter((name) => stranger[name] === 'all');
  const impossible = fields.filter(
    ({ slug, required, defaultValue }) =>
      required &&
      defaultValue === null &&
      rules.readonly.includes(slug) &&
      ![...rules.set.keys()].some((set) => set.slug === slug),
  );
  return [
    ...open.map(everybodyMay),
    ...(rules.variables.some((variable) => variable.startsWith('$user')) && users === null
      ? [`There is no record space ${rules.users}, which is to hold the users: nobody can log in`]
      : []),
    ...impossible.map(({ name }) => `No record can be inserted: the field ${name} is required, and readonly`),
    ...(rules.allow.insert !== null && rules.allow.find === null && rules.allow.update !== null
      ? ['No record can be changed: nobody can find one']
      : []),
  ];
}

/** Why a record meets conditions, or does not. */
export function reasons(
  conditions: Conditions,
  row: StoredRow,
): { readonly met: boolean; readonly why: string[] } {
  const filters = [...conditions.plain.map(asFilter), ...conditions.others];
  return reasonsOf({ group: 'all', branches: filters }, row);
}

function reasonsOf(filter: Filter, row: StoredRow): { readonly met: boolean; readonly why: string[] } {
  const met = filterTest(filter, valueIn)(row);
  if (!('group' in filter)) return { met, why: [comparedWords(filter, row)] };
  const branches = filter.branches.map((branch) => reasonsOf(branch, row));
  // of what is met by one branch the others say nothing
  const wanted = filter.group === 'none' ? !met : met;
  const telling = branches.filter((branch) => branch.met === wanted);
  return { met, why: (telling.length > 0 ? telling : branches).flatMap(({ why }) => why) };
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
