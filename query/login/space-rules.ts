import { assertGranted } from '#auth/authenticate.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { invalidBody, invalidRules, noMatch, recordSpaceNotFound } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Grants, inSpace } from '#kernel/grants.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { assignmentsOf } from '#records/changed-files.ts';
import { firstByValues } from '#records/first-by-values.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import { validateChanges, valuesSet } from '#records/input/validate-changes.ts';
import { type RecordValues, validateRecord } from '#records/input/validate-record.ts';
import type { RecordReader } from '#records/record-reader.ts';
import { assertWritable, conditionsOf, filledIn } from '#records/ruled.ts';
import { rowOf } from '#records/sql/new-record.ts';
import { storedJson } from '#records/sql/record-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { type Assignment, changedRow } from '#records/sql/update-sql.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type Family, families } from '#records/structure/space-auth.ts';
import type { Structure } from '#records/structure/structure.ts';
import { isObject } from '#records/types/is-object.ts';
import type { CatalogueEntry } from '../space/catalogue-entry.ts';
import type { Spaces } from '../space/spaces.ts';
import type { SpacesParts } from '../space/spaces-deps.ts';
import type { BoundSpaces } from './bound-spaces.ts';
import { lackingWords, type Reach, reachOf, reasons, warningsOf } from './rule-words.ts';
import { bindRules, exampleUser, type Rules, readRules, variableProblems } from './rules.ts';
import { type MailSettings, signUpWarnings } from './sign-up-warnings.ts';

export interface SpaceRulesParts extends Pick<SpacesParts, 'catalogue' | 'store'> {
  readonly spaces: Spaces;
  readonly reader: RecordReader;
  readonly boundSpaces: Pick<BoundSpaces, 'viewAs'>;
  readonly mailSettings: MailSettings;
}

export interface RulesSummary {
  /** As they were set; null: none. */
  readonly rules: unknown;
  readonly warnings: readonly string[];
  readonly stranger: Reach;
  readonly user: Reach;
}

export interface RulesTrial {
  /** An id; null: a stranger. */
  readonly user: string | null;
  readonly records: readonly RecordTrial[];
}

/** Most records of one trial. */
export const mostTriedRecords = 100;
/** Records of a trial that names none: the oldest ones. */
const usuallyTriedRecords = 20;

/** Stores rules. Rejects with a 400 that lists every problem. @param input null: removes the rules */
export async function setRules(
  deps: SpaceRulesParts,
  entry: CatalogueEntry,
  input: unknown,
  signal: AbortSignal,
): Promise<RulesSummary> {
  const { spaces } = deps;
  const rules = input === null ? '' : JSON.stringify(input);
  const users = input === null ? null : await usersOf(deps, entry, input, signal);
  const problemsOf = (structure: Structure): string[] =>
    input === null ? [] : checked(input, structure, users).problems;
  const problems = problemsOf(entry.structure);
  if (problems.length > 0) throw invalidRules(problems);
  // the structure may have changed meanwhile
  const ifFit = ({ structure }: CatalogueEntry): string | null =>
    problemsOf(structure).length === 0 ? rules : null;
  if (!(await spaces.editRules(entry.id, ifFit, signal))) throw recordSpaceNotFound(entry.structure.slug, '');
  await spaces.untilHeard(signal);
  return summarizeRules(deps, { ...entry, rules }, signal);
}

/** The structure of the users' space; null: it does not exist. */
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
    bindRules(rules, structure, { user: exampleUser(users), now: new Date() }, problems);
  return { rules, problems };
}

/** The rules of a space, their warnings, and what strangers and users may do. */
export async function summarizeRules(
  deps: SpaceRulesParts,
  entry: CatalogueEntry,
  signal: AbortSignal,
): Promise<RulesSummary> {
  const { structure, rules: text } = entry;
  if (text === '') {
    const none = Object.fromEntries(families.map((name) => [name, 'none'])) as Reach;
    return { rules: null, warnings: [], stranger: none, user: none };
  }
  const input: unknown = JSON.parse(text);
  const users = await usersOf(deps, entry, input, signal);
  const { rules, problems } = checked(input, structure, users);
  const stranger = reachOf(rules, false);
  return {
    rules: input,
    warnings: [
      ...problems.map((problem) => `Nobody may do anything: ${problem}`),
      ...warningsOf(rules, structure, users),
      ...(await signUpWarnings(rules, stranger.insert !== 'none', deps.mailSettings)),
    ],
    stranger,
    user: reachOf(rules, true),
  };
}

interface TrialRequest {
  readonly operation: Family;
  readonly user: string | null;
  readonly ids: readonly string[] | null;
  readonly record: unknown;
  readonly rules: unknown;
}

function parseTrial(body: unknown): TrialRequest {
  const problems: string[] = [];
  if (!isObject(body)) throw invalidBody('Request body should be a JSON object');
  const { operation, user = null, ids = null, record, rules, ...others } = body;
  for (const key of Object.keys(others)) problems.push(`${shownName(key)} is not known`);
  if (!families.includes(operation as Family))
    problems.push(`operation should be one of ${families.join(', ')}`);
  if (user !== null && typeof user !== 'string') problems.push('user should be the id of a user, or null');
  const areIds =
    ids === null ||
    (Array.isArray(ids) &&
      ids.length <= mostTriedRecords &&
      ids.every((id) => typeof id === 'string' && id.isWellFormed()));
  if (!areIds) problems.push(`ids should be an array of up to ${mostTriedRecords} ids`);
  if (operation === 'insert' && record === undefined)
    problems.push('record is missing: the record to insert');
  if (problems.length > 0) throw invalidBody(problems);
  return { operation, user, ids, record, rules } as TrialRequest;
}

/**
 * Tries an operation of a user, and reports which records it reaches and why.
 * @param args.grants of the access token, which must also reach the space of the users
 */
export async function tryRules(
  deps: SpaceRulesParts,
  entry: CatalogueEntry,
  { body, grants }: { readonly body: unknown; readonly grants: Grants | undefined },
  signal: AbortSignal,
): Promise<RulesTrial> {
  const trial = parseTrial(body);
  const stored = await deps.spaces.find(entry.id, signal);
  if (stored === null) throw recordSpaceNotFound(entry.structure.slug, '');
  const { rules: _, ...plain } = stored;
  const text = trial.rules === undefined ? entry.rules : JSON.stringify(trial.rules);
  if (text === '') throw invalidRules(['The record space has no rules']);
  const rules: unknown = JSON.parse(text);
  const tried = checked(rules, entry.structure, await usersOf(deps, entry, rules, signal));
  if (tried.problems.length > 0) throw invalidRules(tried.problems);
  if (trial.user !== null) {
    const { projectSlug: project } = entry.structure;
    assertGranted(grants, inSpace('structure'), { project, space: tried.rules.users });
  }
  const view = await deps.boundSpaces.viewAs({ ...plain, rules: text }, trial.user, signal);
  if (view === null) throw noMatch(`There is no user with the id ${shownName(trial.user ?? '')}`);
  const lacking = (name: Family): string[] => lackingWords(tried.rules.allow[name], trial.user !== null);
  const records =
    trial.operation === 'insert'
      ? [await tryInsert(view, trial.record, lacking('insert'), signal)]
      : await tryRecords(deps, { plain, view, trial, lacking }, signal);
  return { user: trial.user, records };
}

interface RecordTrial {
  readonly id: string | null;
  readonly allowed: boolean;
  readonly why: readonly string[];
  readonly record: unknown;
}

async function tryInsert(
  view: RecordSpace,
  record: unknown,
  lacking: readonly string[],
  signal: AbortSignal,
): Promise<RecordTrial> {
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
    return { id: null, allowed: true, why: reasons(conditions, row, lacking).why, record: seen };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_allowed') throw error;
    return {
      id: null,
      allowed: false,
      why: [...error.problems, ...reasons(conditions, rowWith(values), lacking).why],
      record: null,
    };
  }
}

async function tryRecords(
  { store, reader }: SpaceRulesParts,
  {
    plain,
    view,
    trial,
    lacking,
  }: {
    readonly plain: RecordSpace;
    readonly view: RecordSpace;
    readonly trial: TrialRequest;
    readonly lacking: (name: Family) => readonly string[];
  },
  signal: AbortSignal,
): Promise<RecordTrial[]> {
  const { operation } = trial;
  const oldest = async () =>
    (await reader.matching(plain, { conditions: allRecords, limit: usuallyTriedRecords }, signal)).map(
      ({ _id }) => _id,
    );
  const ids = trial.ids ?? (await oldest());
  const rows = await firstByValues(store, { space: plain, target: 'id' }, ids, signal);
  const changed =
    operation === 'update' && trial.record !== undefined ? trialChanges(view, trial.record) : null;
  return ids.map((id) => {
    const row = rows.get(id);
    if (row === undefined) return { id, allowed: false, why: ['There is no such record'], record: null };
    const steps: [Family, StoredRow][] = [['find', row]];
    if (operation !== 'find') steps.push([operation, row]);
    if (changed !== null) steps.push(['update', changedRow(row, changed)]);
    const results = steps.map(([name, state], index) => {
      const conditions = conditionsOf(view, name);
      if (conditions === null) return { met: false, why: [nobody(name)] };
      const { met, why } = reasons(conditions, state, lacking(name));
      const when = changed !== null && index === steps.length - 1 ? `${name}, then` : name;
      return { met, why: why.map((one) => `${when}: ${one}`) };
    });
    const failed = results.filter(({ met }) => !met);
    const seen: unknown = results[0]?.met === true ? JSON.parse(storedJson(view.structure, row)) : null;
    return {
      id,
      allowed: failed.length === 0,
      why: (failed.length > 0 ? failed : results).flatMap(({ why }) => why),
      record: seen,
    };
  });
}

function trialChanges(view: RecordSpace, record: unknown): readonly Assignment[] {
  const changes = validateChanges(record, view.structure);
  assertWritable(view, [...changes.keys()]);
  return assignmentsOf(view, changes, valuesSet(changes, view.structure));
}

function nobody(operation: Family): string {
  return `${operation}: the rules allow nobody`;
}
