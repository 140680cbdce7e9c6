import { assertGranted } from '#auth/authenticate.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidBody, invalidRules, noMatch, recordSpaceNotFound } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Grants, inSpace } from '#kernel/grants.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { firstByValues } from '#records/first-by-values.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import { validateChanges, valuesSet } from '#records/input/validate-changes.ts';
import { type RecordValues, validateRecord } from '#records/input/validate-record.ts';
import { assignmentsOf } from '#records/record-changes.ts';
import type { RecordReader } from '#records/record-reader.ts';
import { assertWritable, conditionsOf, filledIn } from '#records/ruled.ts';
import { rowOf } from '#records/sql/new-record.ts';
import { storedJson } from '#records/sql/record-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { type Assignment, changedRow } from '#records/sql/update-sql.ts';
import { isObject } from '#records/structure/is-object.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { CatalogueEntry } from '../space/space-catalogue.ts';
import type { Spaces } from '../space/spaces.ts';
import type { SpacesParts } from '../space/spaces-deps.ts';
import type { BoundSpaces } from './bind-space.ts';
import { type Reach, reachOf, reasons, warningsOf } from './rule-words.ts';
import { boundBy, exampleUser, type Rules, readRules, variableProblems } from './rules.ts';

export interface SpaceRulesParts extends Pick<SpacesParts, 'catalogue' | 'store'> {
  readonly spaces: Spaces;
  readonly reader: RecordReader;
  readonly boundSpaces: Pick<BoundSpaces, 'viewAs'>;
}

export interface ShownRules {
  /** As they were set; null: there are none. */
  readonly rules: unknown;
  readonly warnings: readonly string[];
  readonly stranger: Reach;
  readonly user: Reach;
}

export interface TriedRules {
  /** Id; null: a stranger. */
  readonly user: string | null;
  readonly records: readonly Tried[];
}

/** Records that one try is about. */
export const mostTried = 100;
/** Of a try that names none: the oldest ones. */
const usuallyTried = 20;

/** Stores rules. Rejects with a 400 that lists every problem. @param given null: the space is to have none */
export async function setRules(
  deps: SpaceRulesParts,
  entry: CatalogueEntry,
  given: unknown,
  signal: AbortSignal,
): Promise<ShownRules> {
  const { spaces } = deps;
  const rules = given === null ? '' : JSON.stringify(given);
  const users = given === null ? null : await usersOf(deps, entry, given, signal);
  const problemsOf = (structure: Structure): string[] =>
    given === null ? [] : checked(given, structure, users).problems;
  const problems = problemsOf(entry.structure);
  if (problems.length > 0) throw invalidRules(problems);
  // the structure may have changed meanwhile
  const ifFit = ({ structure }: CatalogueEntry): string | null =>
    problemsOf(structure).length === 0 ? rules : null;
  if (!(await spaces.editRules(entry.id, ifFit, signal))) throw recordSpaceNotFound(entry.structure.slug, '');
  await spaces.untilHeard(signal);
  return shownRules(deps, { ...entry, rules }, signal);
}

/** The structure of the space that rules name for the users; null: there is none. */
async function usersOf(
  { catalogue }: SpaceRulesParts,
  { ownerId, structure }: CatalogueEntry,
  rules: unknown,
  signal: AbortSignal,
): Promise<Structure | null> {
  const { users } = readRules(rules, structure, []);
  return (await catalogue.find(uuidV5(ownerId, structure.projectSlug, users), signal))?.structure ?? null;
}

function checked(
  input: unknown,
  structure: Structure,
  users: Structure | null,
): { readonly rules: Rules; readonly problems: string[] } {
  const problems: string[] = [];
  const rules = readRules(input, structure, problems);
  problems.push(...variableProblems(rules, users));
  if (problems.length === 0)
    boundBy(rules, structure, { user: exampleUser(users), now: new Date() }, problems);
  return { rules, problems };
}

/** The rules of a space, their warnings, and whom they let do what. */
export async function shownRules(
  deps: SpaceRulesParts,
  entry: CatalogueEntry,
  signal: AbortSignal,
): Promise<ShownRules> {
  const { structure, rules: text } = entry;
  if (text === '') {
    const none = Object.fromEntries(families.map((name) => [name, 'none'])) as Reach;
    return { rules: null, warnings: [], stranger: none, user: none };
  }
  const given: unknown = JSON.parse(text);
  const users = await usersOf(deps, entry, given, signal);
  const { rules, problems } = checked(given, structure, users);
  return {
    rules: given,
    warnings: [
      ...problems.map((problem) => `Nobody may do anything: ${problem}`),
      ...warningsOf(rules, structure, users),
    ],
    stranger: reachOf(rules, false),
    user: reachOf(rules, true),
  };
}

interface Try {
  readonly operation: Family;
  readonly user: string | null;
  readonly ids: readonly string[] | null;
  readonly record: unknown;
  readonly rules: unknown;
}

function readTry(body: unknown): Try {
  const problems: string[] = [];
  if (!isObject(body)) throw invalidBody('Request body should be a JSON object');
  const { operation, user = null, ids = null, record, rules, ...others } = body;
  for (const key of Object.keys(others)) problems.push(`${shownName(key)} is not known here`);
  if (!families.includes(operation as Family))
    problems.push(`operation should be one of ${families.join(', ')}`);
  if (user !== null && typeof user !== 'string') problems.push('user should be the id of a user, or null');
  const areIds =
    ids === null ||
    (Array.isArray(ids) &&
      ids.length <= mostTried &&
      ids.every((id) => typeof id === 'string' && id.isWellFormed()));
  if (!areIds) problems.push(`ids should be an array of up to ${mostTried} ids`);
  if (operation === 'insert' && record === undefined)
    problems.push('record is missing: it is the one to insert');
  if (problems.length > 0) throw invalidBody(problems);
  return { operation, user, ids, record, rules } as Try;
}

/**
 * What would come of an operation of a user.
 * @param body of the request for it @param grants of its token, which is to reach the space of the users as well
 */
export async function tryRules(
  deps: SpaceRulesParts,
  entry: CatalogueEntry,
  { body, grants }: { readonly body: unknown; readonly grants: Grants | undefined },
  signal: AbortSignal,
): Promise<TriedRules> {
  const given = readTry(body);
  const stored = await deps.spaces.find(entry.id, signal);
  if (stored === null) throw recordSpaceNotFound(entry.structure.slug, '');
  const { rules: _, ...plain } = stored;
  const text = given.rules === undefined ? entry.rules : JSON.stringify(given.rules);
  if (text === '') throw invalidRules(['The record space has no rules']);
  const rules: unknown = JSON.parse(text);
  const tried = checked(rules, entry.structure, await usersOf(deps, entry, rules, signal));
  if (tried.problems.length > 0) throw invalidRules(tried.problems);
  if (given.user !== null) {
    const { projectSlug: project } = entry.structure;
    assertGranted(grants, inSpace('structure'), { project, space: tried.rules.users });
  }
  const view = await deps.boundSpaces.viewAs({ ...plain, rules: text }, given.user, signal);
  if (view === null) throw noMatch(`There is no user with the id ${shownName(given.user ?? '')}`);
  const records =
    given.operation === 'insert'
      ? [await triedInsert(view, given.record, signal)]
      : await triedRecords(deps, { plain, view, given }, signal);
  return { user: given.user, records };
}

interface Tried {
  readonly id: string | null;
  readonly allowed: boolean;
  readonly why: readonly string[];
  readonly record: unknown;
}

async function triedInsert(view: RecordSpace, record: unknown, signal: AbortSignal): Promise<Tried> {
  const conditions = conditionsOf(view, 'insert');
  if (conditions === null) return { id: null, allowed: false, why: [nobody('insert')], record: null };
  const now = new Date().toISOString();
  const values = validateRecord(record, view.structure);
  const rowWith = (stored: RecordValues): StoredRow =>
    rowOf(view, { id: '', createdAt: now, values: stored }).row;
  try {
    const [filled] = await filledIn(view, [values], now, signal);
    const row = rowWith(filled as RecordValues);
    const seen: unknown = JSON.parse(storedJson(view.structure, row));
    return { id: null, allowed: true, why: reasons(conditions, row).why, record: seen };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_allowed') throw error;
    return {
      id: null,
      allowed: false,
      why: [...error.problems, ...reasons(conditions, rowWith(values)).why],
      record: null,
    };
  }
}

async function triedRecords(
  { store, reader }: SpaceRulesParts,
  { plain, view, given }: { readonly plain: RecordSpace; readonly view: RecordSpace; readonly given: Try },
  signal: AbortSignal,
): Promise<Tried[]> {
  const { operation } = given;
  const oldest = async () =>
    (await reader.matching(plain, { conditions: allRecords, limit: usuallyTried }, signal)).map(
      ({ _id }) => _id,
    );
  const ids = given.ids ?? (await oldest());
  const rows = await firstByValues(store, { space: plain, target: 'id' }, ids, signal);
  const changed =
    operation === 'update' && given.record !== undefined ? triedChanges(view, given.record) : null;
  return ids.map((id) => {
    const row = rows.get(id);
    if (row === undefined) return { id, allowed: false, why: ['There is no such record'], record: null };
    const steps = [
      ...[...new Set(['find', operation] as const)].map((name) => [name, row] as const),
      ...(changed === null ? [] : [['update', changedRow(row, changed)] as const]),
    ];
    const said = steps.map(([name, state], index) => {
      const conditions = conditionsOf(view, name);
      if (conditions === null) return { met: false, why: [nobody(name)] };
      const { met, why } = reasons(conditions, state);
      const when = changed !== null && index === steps.length - 1 ? `${name}, then` : name;
      return { met, why: why.map((one) => `${when}: ${one}`) };
    });
    const missing = said.filter(({ met }) => !met);
    const seen: unknown = said[0]?.met === true ? JSON.parse(storedJson(view.structure, row)) : null;
    return {
      id,
      allowed: missing.length === 0,
      why: (missing.length > 0 ? missing : said).flatMap(({ why }) => why),
      record: seen,
    };
  });
}

function triedChanges(view: RecordSpace, record: unknown): readonly Assignment[] {
  const changes = validateChanges(record, view.structure);
  assertWritable(view, [...changes.keys()]);
  return assignmentsOf(view, changes, valuesSet(changes, view.structure));
}

function nobody(operation: Family): string {
  return `${operation}: the rules let nobody`;
}
