import { assertGranted } from '#auth/authenticate.ts';
import {
  type BoundSender,
  conditionFor,
  type FileCondition,
  type FileOperation,
  fileOperations,
} from '#catalogue/file-rules/file-rules.ts';
import { meets, type RuledFile, valueIn } from '#catalogue/file-rules/file-test.ts';
import { typeProblem } from '#catalogue/file-rules/upload-limits.ts';
import type { Project, Projects } from '#catalogue/projects.ts';
import { invalidBody, invalidRules, noMatch } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Grants, inSpace } from '#kernel/grants.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { isObject } from '#records/types/is-object.ts';
import type { Spaces } from '../space/spaces.ts';
import type { SpacesParts } from '../space/spaces-deps.ts';
import type { BoundSpaces } from './bound-spaces.ts';
import { type ReadFileRules, readFileRules } from './file-rules.ts';
import { lackingWords, type Reach, reachOf } from './rule-words.ts';

export interface FileRulesParts extends Pick<SpacesParts, 'catalogue'> {
  readonly projects: Projects;
  readonly spaces: Pick<Spaces, 'untilHeard'>;
  readonly boundSpaces: Pick<BoundSpaces, 'hasUser'>;
  /** Whether the address of a file is enough to read it: FILE_LINKS=public. */
  readonly hasPublicLinks: boolean;
}

export interface FileRulesSummary {
  /** As they were set; null: none. */
  readonly rules: unknown;
  readonly warnings: readonly string[];
  readonly stranger: Reach<FileOperation>;
  readonly user: Reach<FileOperation>;
}

/** Most files of one trial. */
export const mostTriedFiles = 100;
/** Files of a trial that names none: the newest ones. */
const usuallyTriedFiles = 20;

/** Stores rules. Rejects with a 400 that lists every problem. @param input null: removes the rules */
export async function setFileRules(
  deps: FileRulesParts,
  project: Project,
  input: unknown,
  signal: AbortSignal,
): Promise<FileRulesSummary> {
  const { projects, spaces } = deps;
  const rules = input === null ? null : checked(input).rules;
  await projects.setFileRules(project, rules, signal);
  await spaces.untilHeard(signal);
  return summarizeFileRules(deps, { ...project, given: input }, signal);
}

function checked(input: unknown): ReadFileRules {
  const problems: string[] = [];
  const read = readFileRules(input, problems);
  if (problems.length > 0) throw invalidRules(problems, 'The rules do not fit files');
  return read;
}

/** The rules, their warnings, and what strangers and users may do. */
export async function summarizeFileRules(
  { catalogue, hasPublicLinks }: Pick<FileRulesParts, 'catalogue' | 'hasPublicLinks'>,
  { ownerId, slug, given }: Pick<Project, 'ownerId' | 'slug'> & { readonly given: unknown },
  signal: AbortSignal,
): Promise<FileRulesSummary> {
  if (given === null) {
    const none = Object.fromEntries(fileOperations.map((name) => [name, 'none'])) as Reach<FileOperation>;
    return { rules: null, warnings: [], stranger: none, user: none };
  }
  const problems: string[] = [];
  const read = readFileRules(given, problems);
  const stranger = reachOf(read, false);
  const warnings = problems.map((problem) => `Nobody may do anything: ${problem}`);
  for (const name of fileOperations) if (stranger[name] === 'all') warnings.push(everybodyMayFiles(name));
  if (hasPublicLinks && stranger.read !== 'all')
    warnings.push("With FILE_LINKS=public anybody who knows a file's address reads it");
  if (read.rules.allow.delete !== null && read.rules.allow.read === null)
    warnings.push('No file can be deleted: nobody can read one');
  const { users } = read.rules;
  if (read.namesUser && (await catalogue.find(uuidV5(ownerId, slug, users), signal)) === null)
    warnings.push(`The record space of users (${users}) does not exist: nobody can log in`);
  return { rules: given, warnings, stranger, user: reachOf(read, true) };
}

/** The warning for an operation that is open to everybody. */
export function everybodyMayFiles(operation: FileOperation): string {
  return `Everybody can ${operation} ${operation === 'upload' ? '' : 'all '}files, without logging in`;
}

interface FileTrial {
  /** Null: of a file that would be uploaded. */
  readonly name: string | null;
  readonly allowed: boolean;
  readonly why: readonly string[];
}

/** Tries an operation of a user, and reports which files it reaches and why. */
export async function tryFileRules(
  deps: FileRulesParts,
  project: Project,
  { body, grants }: { readonly body: unknown; readonly grants: Grants | undefined },
  signal: AbortSignal,
): Promise<{ readonly user: string | null; readonly files: readonly FileTrial[] }> {
  const { operation, user, names, file, rules: given = project.fileRules?.given } = parseTrial(body);
  if (given === undefined) throw invalidRules(['The project has no rules for its files'], 'Nothing to try');
  const { rules, allow } = checked(given);
  if (user !== null) {
    assertGranted(grants, inSpace('structure'), { project: project.slug, space: rules.users });
    const spaceId = uuidV5(project.ownerId, project.slug, rules.users);
    if (!(await deps.boundSpaces.hasUser({ spaceId, id: user }, signal)))
      throw noMatch(`There is no user with the id ${shownName(user)}`);
  }
  const sender = { user, rules, allow };
  if (operation === 'upload') return { user, files: [tryUpload(sender, file)] };
  const { files } = deps.projects;
  const found =
    names === null
      ? await files.newest(project, usuallyTriedFiles, signal)
      : await files.named(project, names, signal);
  const byName = new Map(found.map((one) => [one.name, one]));
  const trials = (names ?? [...byName.keys()]).map((name): FileTrial => {
    const one = byName.get(name);
    if (one === undefined) return { name, allowed: false, why: ['There is no such file'] };
    const steps: FileOperation[] = operation === 'delete' ? ['read', 'delete'] : [operation];
    const results = steps.map((step) => tried(sender, step, one));
    const failed = results.filter(({ met }) => !met);
    return {
      name,
      allowed: failed.length === 0,
      why: (failed.length > 0 ? failed : results).flatMap(({ why }) => why),
    };
  });
  return { user, files: trials };
}

interface TrialRequest {
  readonly operation: FileOperation;
  readonly user: string | null;
  readonly names: readonly string[] | null;
  readonly file: Pick<RuledFile, 'originalName' | 'contentType'> & { readonly size: number };
  readonly rules?: unknown;
}

function parseTrial(body: unknown): TrialRequest {
  if (!isObject(body)) throw invalidBody('Request body should be a JSON object');
  const { operation, user = null, names = null, file = null, rules, ...others } = body;
  const problems = Object.keys(others).map((key) => `${shownName(key)} is not known`);
  if (!(fileOperations as readonly unknown[]).includes(operation))
    problems.push(`operation should be one of ${fileOperations.join(', ')}`);
  if (user !== null && typeof user !== 'string') problems.push('user should be the id of a user, or null');
  const areNames =
    names === null ||
    (Array.isArray(names) &&
      names.length <= mostTriedFiles &&
      names.every((name) => typeof name === 'string'));
  if (!areNames) problems.push(`names should be an array of up to ${mostTriedFiles} names`);
  const { originalName, contentType, size } = isObject(file) ? file : {};
  const isFile =
    typeof originalName === 'string' && typeof contentType === 'string' && Number.isSafeInteger(size);
  if (operation === 'upload' && !isFile)
    problems.push('file should have the originalName, contentType and size of the file to upload');
  if (problems.length > 0) throw invalidBody(problems);
  return { operation, user, names, file, rules } as TrialRequest;
}

/** A sender, and the conditions as they were given. */
type TriedSender = BoundSender & Pick<ReadFileRules, 'allow'>;

function tryUpload(
  sender: TriedSender,
  { originalName, contentType, size }: TrialRequest['file'],
): FileTrial {
  const { maxBytes } = sender.rules;
  const badType = typeProblem(sender.rules, contentType);
  const none = { id: '', name: originalName, createdAt: new Date() };
  const owner = sender.user === null ? {} : { owner: sender.user };
  const { met, why } = tried(sender, 'upload', { ...none, originalName, contentType, size, ...owner });
  const problems = [
    ...(maxBytes !== null && (size ?? 0) > maxBytes ? [`size is ${size}; maxBytes is ${maxBytes}`] : []),
    ...(badType === null ? [] : [badType]),
  ];
  return { name: null, allowed: met && problems.length === 0, why: [...problems, ...why] };
}

interface Reasons {
  readonly met: boolean;
  readonly why: readonly string[];
}

function tried(sender: TriedSender, operation: FileOperation, file: RuledFile): Reasons {
  const condition = conditionFor(sender, operation);
  if (condition === null) return { met: false, why: [`${operation}: the rules allow nobody`] };
  const lacking = lackingWords(sender.allow[operation], sender.user !== null);
  const { met, why } = reasonsOf(condition, file, lacking);
  return { met, why: [...new Set(why)].map((one) => `${operation}: ${one}`) };
}

function reasonsOf(condition: FileCondition, file: RuledFile, lacking: readonly string[]): Reasons {
  const met = meets(condition, file) === true;
  if ('group' in condition) {
    // what stands for a condition without a value has no branches
    if (condition.branches.length === 0) return { met, why: lacking };
    const branches = condition.branches.map((branch) => reasonsOf(branch, file, lacking));
    // only the branches that decide the result are reasons
    const wanted = condition.group === 'none' ? !met : met;
    const decisive = branches.filter((branch) => branch.met === wanted);
    return { met, why: (decisive.length > 0 ? decisive : branches).flatMap(({ why }) => why) };
  }
  const { field, operator, values } = condition;
  const shown = values.map((value) => shownValue(field, value)).join(', ');
  const value = valueIn(file, field);
  const is = value === undefined ? 'has no value' : `is ${shownValue(field, value)}`;
  return { met, why: [`${field} ${is}; the rule says ${operator === 'eq' ? '=' : operator} ${shown}`] };
}

function shownValue(field: string, value: string | number): string {
  return field === 'createdAt' ? new Date(value).toISOString() : JSON.stringify(value);
}
