import { shownName } from '#kernel/errors/shown-name.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { asObject, isObject } from '../types/is-object.ts';
import type { Field } from './field.ts';
import { parseField } from './parse-field.ts';
import { parseSpaceAuth } from './space-auth.ts';
import { createStructure, type Structure, type Webhooks } from './structure.ts';

/** A parsed `structure` header. Without problems there is a structure. */
export interface ParsedStructure {
  readonly structure: Structure | null;
  readonly problems: readonly string[];
  /** As far as they could be read, to be compared with the path. */
  readonly projectSlug: string | null;
  readonly slug: string | null;
}

export const maxFields = 500;
export const longestUrl = 2048;
/** Levels of arrays and objects of a structure: those of a value, and the levels around it. */
export const mostLevels = 110;
/** Parameters of login. */
const mostParams = 100;

/**
 * Parses the `structure` header of interface.md section 2.2, and finds every problem in it.
 * @param scopes that `authOptions` may name; null: the text was checked when it was stored
 */
export function parseStructure(text: string, scopes: readonly string[] | null = null): ParsedStructure {
  let input: unknown;
  try {
    input = scopes === null ? JSON.parse(text) : parseExactly(text);
  } catch (error) {
    const isRounded = error instanceof RoundedNumber;
    return unreadable(`The structure header${isRounded ? `: ${error.message}` : ' is not valid JSON'}`);
  }
  return readStructure(input, scopes);
}

function unreadable(problem: string): ParsedStructure {
  return { structure: null, problems: [problem], projectSlug: null, slug: null };
}

/**
 * The same for parsed JSON. It is never made text again before it is checked: a number beyond a double would become
 * null, and a value that is nested too deep has no text at all.
 */
export function readStructure(input: unknown, scopes: readonly string[] | null = null): ParsedStructure {
  if (!isObject(input)) return unreadable('The structure header is not a JSON object');
  if (nestedDeeperThan(input, mostLevels)) {
    return unreadable(`The structure is nested deeper than ${mostLevels} levels`);
  }
  const problems: string[] = [];
  const projectSlug = textOf(input, 'projectSlug', problems, true);
  const slug = textOf(input, 'slug', problems, true);
  const name = textOf(input, 'name', problems, false);
  const description = textOf(input, 'description', problems, false);
  const clear = input.clear ?? false;
  if (typeof clear !== 'boolean') problems.push('The structure has a clear that is not true or false');
  const fields = parseFields(input, problems);
  const auth = parseSpaceAuth(input.authOptions, problems, scopes);
  const webhooks = parseWebhooks(input.webhooks, problems);
  const initialData = input.initialData ?? [];
  if (!Array.isArray(initialData)) problems.push('The structure has initialData that is not an array');
  const structure =
    problems.length > 0 || projectSlug === null || slug === null
      ? null
      : createStructure({
          name,
          description,
          projectSlug,
          slug,
          fields,
          clear: clear === true,
          auth,
          webhooks,
          loginParams: parseLoginParams(input.functionOptions),
          initialData: initialData as readonly unknown[],
        });
  return { structure, problems, projectSlug, slug };
}

/** Null: it is not said, which is a problem where it has to be, or is no text. */
function textOf(
  raw: Readonly<Record<string, unknown>>,
  key: string,
  problems: string[],
  isRequired: boolean,
): string | null {
  const value = raw[key] ?? null;
  const isMissing = value === null || (isRequired && value === '');
  if (isMissing && isRequired) problems.push(`The structure lacks ${key}`);
  else if (typeof value === 'string') return value;
  else if (!isMissing) problems.push(`The structure has a ${key} that is not text`);
  return null;
}

function parseFields(raw: Readonly<Record<string, unknown>>, problems: string[]): readonly Field[] {
  // the published client calls it recordFieldStructures
  const list = raw.recordStructure ?? raw.recordFieldStructures;
  if (!Array.isArray(list)) {
    problems.push('The structure lacks recordStructure, an array of fields');
    return [];
  }
  if (list.length > maxFields) {
    problems.push(`The structure has ${list.length} fields; at most ${maxFields} are allowed`);
    return [];
  }
  const fields = list
    .map((item, index) => parseField(item, index, problems))
    .filter((field): field is Field => field !== null);
  problems.push(...ambiguities(list));
  return fields;
}

/** A name or slug that stands for two fields, also where the fields have other problems. */
function ambiguities(list: readonly unknown[]): string[] {
  const owners = new Map<string, number>();
  const found = new Set<string>();
  list.forEach((item, index) => {
    if (typeof item !== 'object' || item === null) return;
    const { name, slug } = item as { name?: unknown; slug?: unknown };
    for (const [kind, text] of [
      ['name', name],
      ['slug', slug],
    ]) {
      if (typeof text !== 'string' || text === '') continue;
      const owner = owners.get(text);
      if (owner === undefined) owners.set(text, index);
      else if (owner !== index)
        found.add(`The structure repeats ${shownName(text)} as the ${kind} of a field`);
    }
  });
  return [...found];
}

/**
 * Whether a parsed JSON value has more levels of arrays and objects than `levels`. JSON.parse takes values that are nested
 * too deep for the stack of JSON.stringify, so this is checked first. Goes no deeper than `levels` itself.
 */
function nestedDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => nestedDeeperThan(item, levels - 1));
}

/**
 * `functionOptions.login.compulsoryParams` of a structure: fields that login has to be given. They are the request's
 * own and never stored. Any other form is ignored, and login is stricter then.
 */
function parseLoginParams(functionOptions: unknown): readonly string[] {
  const { login } = asObject(functionOptions);
  const { compulsoryParams } = asObject(login);
  if (!Array.isArray(compulsoryParams) || compulsoryParams.length > mostParams) return [];
  const names = (compulsoryParams as readonly unknown[]).filter((name) => typeof name === 'string');
  return names.length === compulsoryParams.length ? [...new Set(names)] : [];
}

function parseWebhooks(input: unknown, problems: string[]): Webhooks | null {
  if (input === undefined || input === null) return null;
  if (!isObject(input)) {
    problems.push('The structure has webhooks that are not an object');
    return null;
  }
  const url = (key: keyof Webhooks): string | null => {
    const value = input[key] ?? '';
    if (value === '') return null;
    if (typeof value === 'string' && isHttpUrl(value)) return value;
    problems.push(`The structure has webhooks with an ${key} that is not an http or https address`);
    return null;
  };
  return { onInsertUrl: url('onInsertUrl'), onUpdateUrl: url('onUpdateUrl') };
}

/** Whether a text may be the address of a webhook. */
export function isHttpUrl(text: string): boolean {
  return text.length <= longestUrl && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
