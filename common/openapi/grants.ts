import { slugPattern } from '../metadata/slug.ts';

/** What an operation needs of a token; each operation says which in its description (`needs`). */
export const grantMeanings = {
  find: 'read records',
  insert: 'insert records',
  update: 'change records',
  delete: 'delete records',
  structure: 'make, change and drop record spaces',
  'files:read': 'list and download files',
  'files:write': 'upload files',
  'files:delete': 'delete files',
  webhooks: 'see and resend webhook deliveries',
  usage: 'see the usage',
} as const;

export type Grant = keyof typeof grantMeanings;
export const grantNames = Object.keys(grantMeanings) as readonly Grant[];

/** What an access token is for; what is absent has no limit. */
export interface Grants {
  /** Slugs. */
  readonly projects?: readonly string[];
  /** Slugs, in any of the projects. */
  readonly spaces?: readonly string[];
  readonly may?: readonly Grant[];
}

/** What an operation is about: all projects, a project, or a record space of it. */
export interface GrantPlace {
  readonly project?: string | undefined;
  readonly space?: string | undefined;
}

/** Slugs of one list. */
const mostNames = 100;

/** Why the grants don't cover an operation; null: they do. */
export function lackOf(grants: Grants, need: Grant, { project, space }: GrantPlace): string | null {
  const { projects, spaces, may } = grants;
  const lacks = (where: string): string => `The access token is not granted ${need}${where}`;
  if (may?.includes(need) === false) return lacks('');
  if (projects !== undefined && (project === undefined || !projects.includes(project)))
    return lacks(project === undefined ? ' for all projects' : ` in the project ${project}`);
  if (spaces === undefined) return null;
  if (space !== undefined) return spaces.includes(space) ? null : lacks(` in the record space ${space}`);
  // a token for record spaces is for nothing beside them, unless it says so
  return may === undefined ? lacks(' beside its record spaces') : null;
}

/** Reads grants from JSON; undefined: no limits. */
export function readGrants(value: unknown, problems: string[]): Grants | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) {
    problems.push('grants should be an object with projects, spaces and may, or null');
    return undefined;
  }
  const given = value as Record<string, unknown>;
  for (const key of Object.keys(given))
    if (!['projects', 'spaces', 'may'].includes(key)) problems.push(`grants has no ${JSON.stringify(key)}`);
  const read = <Name extends string>(
    key: keyof Grants,
    what: string,
    isOne: (item: string) => boolean,
  ): readonly Name[] | undefined => {
    const list = given[key];
    if (list === undefined || list === null) return undefined;
    const fits =
      Array.isArray(list) &&
      list.length > 0 &&
      list.length <= mostNames &&
      list.every((item) => typeof item === 'string' && isOne(item));
    if (!fits) problems.push(`grants.${key} should be an array of 1 to ${mostNames} ${what}`);
    return fits ? [...new Set(list as Name[])] : undefined;
  };
  const isSlug = (text: string): boolean => slugPattern.test(text);
  const projects = read('projects', 'slugs of projects', isSlug);
  const spaces = read('spaces', 'slugs of record spaces', isSlug);
  const may = read<Grant>('may', `of ${grantNames.join(', ')}`, (item) => Object.hasOwn(grantMeanings, item));
  if (projects === undefined && spaces === undefined && may === undefined) return undefined;
  return { ...(projects && { projects }), ...(spaces && { spaces }), ...(may && { may }) };
}

/** As a sentence shows them: "may read records in orders of shop". */
export function grantsInWords({ projects, spaces, may }: Grants): string {
  const what = may === undefined ? 'do everything' : listed(may.map((grant) => grantMeanings[grant]));
  const where = [
    ...(spaces === undefined ? [] : [`in ${listed(spaces)}`]),
    ...(projects === undefined ? [] : [`${spaces === undefined ? 'in' : 'of'} ${listed(projects)}`]),
  ];
  return ['may', what, ...where].join(' ');
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
