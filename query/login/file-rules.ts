import {
  everyFile,
  type FileComparison,
  type FileCondition,
  type FileField,
  type FileOperation,
  type FileRules,
  fileFields,
  fileOperations,
} from '#catalogue/file-rules/file-rules.ts';
import { type FileOperatorName, type FileValue, fileOperatorNames } from '#catalogue/file-rules/operators.ts';
import { longestExpiry } from '#kernel/config/longest-expiry.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { spaceSlugProblem } from '#kernel/ids/slug.ts';
import type { Comparison, Filter } from '#records/input/filters/filter.ts';
import type { GivenComparison, GivenFilter } from '#records/input/filters/given-filter.ts';
import { asFilter, parseConditions } from '#records/input/parse-conditions.ts';
import type { Field } from '#records/structure/field.ts';
import { createStructure } from '#records/structure/structure.ts';
import { type FieldType, inferredType } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { readFileWebhooks } from './file-webhooks.ts';
import { type Allowed, comparisonsIn, longestRules, readAllowed, textsOf, usersByDefault } from './rules.ts';

const keys: readonly string[] = [...fileOperations, 'users', 'maxBytes', 'expiresIn', 'types', 'webhooks'];
const mostTypes = 100;
const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/(?:[a-z0-9][a-z0-9!#$&^_.+-]*)?$/;
/** Stands for `$now` while conditions are parsed. */
const anyTime = '1970-01-01T00:00:00.000Z';

/** @param example a value, whose type the field gets */
const field = (name: FileField, example: string | number): Field => ({
  name,
  slug: name,
  type: inferredType(example) as FieldType,
  required: false,
  unique: false,
  hashed: false,
  description: '',
  comment: '',
  defaultValue: null,
  slot: null,
  keyed: false,
});

/** The fields of a file for the parser of filters; `id` and `createdAt` are fields of everything. */
export const fileStructure = createStructure({
  name: null,
  description: null,
  projectSlug: '',
  slug: 'files',
  clear: false,
  fields: [
    field('name', ''),
    field('originalName', ''),
    field('contentType', ''),
    field('size', 0),
    field('owner', ''),
    field('folder', ''),
  ],
});

/** Rules of files, with their conditions as they were given. */
export interface ReadFileRules {
  readonly rules: FileRules;
  readonly allow: Readonly<Record<FileOperation, Allowed>>;
  readonly namesUser: boolean;
}

/** Reads and compiles rules of files. If it adds problems, the result must not be used. */
export function readFileRules(input: unknown, problems: string[]): ReadFileRules {
  const given = isObject(input) ? input : {};
  if (!isObject(input)) problems.push('Rules should be a JSON object');
  if (JSON.stringify(input ?? null).length > longestRules)
    problems.push(`Rules have more than ${longestRules} characters`);
  for (const key of Object.keys(given))
    if (!keys.includes(key)) problems.push(`Rules have no ${shownName(key)}, only ${keys.join(', ')}`);
  const variables = new Set<string>();
  const read = (name: FileOperation): Allowed =>
    readAllowed({ name, all: 'files' }, given[name], fileStructure, variables, problems);
  const allow = Object.fromEntries(
    fileOperations.map((name) => [name, read(name)]),
  ) as ReadFileRules['allow'];
  for (const variable of variables)
    if (variable !== '$user.id' && variable !== '$now')
      problems.push(`${shownName(variable)} is not a variable of files: use $user.id or $now`);
  const { users = usersByDefault, maxBytes = null, types = null, expiresIn = null, webhooks = null } = given;
  if (typeof users !== 'string' || spaceSlugProblem(users) !== null)
    problems.push('users should be the slug of the record space that holds the users');
  if (maxBytes !== null && !(Number.isSafeInteger(maxBytes) && (maxBytes as number) >= 0))
    problems.push('maxBytes should be a whole number from 0');
  if (expiresIn !== null && !isLifetime(expiresIn))
    problems.push(`expiresIn should be a whole number of seconds from 1 to ${longestExpiry}`);
  if (types !== null && !areTypes(types))
    problems.push(
      `types should be an array of 1 to ${mostTypes} media types such as image/png, or image/ for all`,
    );
  const compiled = fileOperations.map((name) => [name, compile(name, allow[name], problems)]);
  return {
    allow,
    namesUser: variables.has('$user.id'),
    rules: {
      given: input,
      users: String(users),
      allow: Object.fromEntries(compiled) as FileRules['allow'],
      maxBytes: maxBytes as number | null,
      ...(expiresIn !== null && { expiresIn: expiresIn as number }),
      types: types as readonly string[] | null,
      webhooks: readFileWebhooks(webhooks, problems),
    },
  };
}

function isLifetime(seconds: unknown): boolean {
  return Number.isInteger(seconds) && (seconds as number) >= 1 && (seconds as number) <= longestExpiry;
}

function areTypes(types: unknown): boolean {
  if (!Array.isArray(types) || types.length === 0 || types.length > mostTypes) return false;
  return types.every((type) => typeof type === 'string' && mediaType.test(type));
}

/** Null: the operation is forbidden, or has problems. */
function compile(name: FileOperation, allowed: Allowed, problems: string[]): FileCondition | null {
  if (allowed === null || allowed === true) return allowed && everyFile;
  for (const one of comparisonsIn(allowed)) {
    const problem = problemOf(one);
    if (problem !== null) problems.push(`${name}: ${problem}`);
  }
  try {
    // for all problems at once, and the limits of conditions
    parseConditions(allowed.map(atAnyTime), fileStructure, 'And');
    return { group: 'all', branches: allowed.map(compiled) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    problems.push(...error.problems.map((problem) => `${name}: ${ofFiles(problem)}`));
    return null;
  }
}

/** A problem of conditions, in words for those who know of no structure of files. */
function ofFiles(problem: string): string {
  return problem.replace(
    /^Query field: (.*) is not in the structure.*$/s,
    (_, field: string) => `files have no field ${field}, only ${fileFields.join(', ')}`,
  );
}

/** What rules of files lack, and rules of records have. */
function problemOf(given: GivenComparison): string | null {
  const { name, operator } = given;
  if (name === 'updatedAt') return 'a file never changes: compare createdAt';
  if (!(fileOperatorNames as readonly string[]).includes(operator))
    return `rules of files have no ${shownName(operator)}, only ${fileOperatorNames.join(', ')}`;
  const isList = 'json' in given.operand && Array.isArray(given.operand.json);
  if (!textsOf(given).includes('$now')) return null;
  return isList || name !== 'createdAt' ? '$now can only be compared with createdAt' : null;
}

function atAnyTime(given: GivenFilter): GivenFilter {
  if ('problem' in given) return given;
  if ('group' in given) return { ...given, branches: given.branches.map((branch) => branch.map(atAnyTime)) };
  return textsOf(given).includes('$now') ? { ...given, operand: { json: anyTime } } : given;
}

function compiled(given: GivenFilter): FileCondition {
  if ('problem' in given) return everyFile;
  if ('group' in given) {
    const branches = given.branches.map((branch): FileCondition => {
      const parts = branch.map(compiled);
      return parts.length === 1 ? (parts[0] as FileCondition) : { group: 'all', branches: parts };
    });
    return { group: given.group, branches };
  }
  const { plain, others } = parseConditions([atAnyTime(given)], fileStructure, 'And');
  const [parsed] = [...plain.map(asFilter), ...others] as [Filter];
  const comparison = comparisonOf(parsed as Comparison);
  return textsOf(given).includes('$now') ? { ...comparison, values: ['$now'] } : comparison;
}

function comparisonOf({ target, operator, values }: Comparison): FileComparison {
  const field = (typeof target === 'string' ? target : target.name) as FileField;
  return { field, operator: operator as FileOperatorName, values: values.map(comparable) };
}

function comparable(value: Comparison['values'][number]): FileValue {
  if (value instanceof Date) return value.getTime();
  return typeof value === 'string' ? value : Number(value);
}
