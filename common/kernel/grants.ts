import { slugPattern, spaceSlugProblem } from './ids/slug.ts';

/** What an operation may need of a token (`needs`). */
export const grantMeanings = {
  find: 'read records',
  insert: 'insert records',
  update: 'change records',
  delete: 'delete records',
  structure: 'create, change and drop record spaces',
  'files:read': 'list and download files',
  'files:write': 'upload files',
  'files:delete': 'delete files',
  webhooks: 'see and resend webhook deliveries',
  usage: 'see the usage',
  backup: 'back up and restore (includes password hashes)',
} as const;

export type Grant = keyof typeof grantMeanings;
export const grantNames = Object.keys(grantMeanings) as readonly Grant[];

/**
 * What an operation touches. A token with `spaces` reaches only those spaces, so every operation declares this, and
 * anything else is refused.
 *
 * - `space`: the record space of its place
 * - `named space`: a record space that is only known later, and then checked like `space`
 * - `granted spaces`: many record spaces; the operation skips those that the token does not cover
 * - `all spaces`: every record space of a project
 * - `beside spaces`: no record space, such as files
 */
export type TouchedSpaces = 'space' | 'named space' | 'granted spaces' | 'all spaces' | 'beside spaces';

export interface Need {
  readonly grant: Grant;
  readonly touches: TouchedSpaces;
  /**
   * For members in the dashboard. `lists`: any grants do, and the operation omits what they don't cover; `find`: so does the
   * grant `find`.
   */
  readonly ofMembers?: 'lists' | 'find';
}

/** What an operation on the record space of its place needs. */
export function inSpace(grant: Grant): Need {
  return { grant, touches: 'space' };
}

/** What an access token may do. Absent fields set no limit. */
export interface Grants {
  /** Slugs. */
  readonly projects?: readonly string[];
  /** Slugs, in any of the projects. */
  readonly spaces?: readonly string[];
  readonly may?: readonly Grant[];
  /** Safe to publish in a web page: the token reaches only records and files that rules allow (docs/security.md). */
  readonly publishable?: true;
  /** Origins of the pages that may use a publishable token; `*`: any. */
  readonly origins?: readonly string[];
}

/** The grants that rules of a space apply to. */
export const ruledGrants = ['find', 'insert', 'update', 'delete'] as const satisfies readonly Grant[];
/** The grants that rules of files apply to. */
export const ruledFileGrants = [
  'files:read',
  'files:write',
  'files:delete',
] as const satisfies readonly Grant[];

const publishableGrants: readonly Grant[] = [...ruledGrants, ...ruledFileGrants];

/** Where an operation is: in all projects, in a project, or in a record space of it. */
export interface GrantPlace {
  readonly project?: string | undefined;
  readonly space?: string | undefined;
}

const keys = ['projects', 'spaces', 'may', 'publishable', 'origins'] as const;

/** The most slugs or origins in one list. */
const mostNames = 100;

/** Why the grants don't cover an operation; null: they do. */
export function lackOf(grants: Grants, { grant, touches }: Need, place: GrantPlace): string | null {
  const { projects, may, publishable } = grants;
  const { project } = place;
  if (publishable && !publishableGrants.includes(grant))
    return lacking(grant, ': a publishable token is for records and files');
  if (may?.includes(grant) === false) return lacking(grant, '');
  if (projects !== undefined && project === undefined && touches !== 'named space')
    return lacking(grant, ' for all projects');
  if (projects !== undefined && project !== undefined && !projects.includes(project))
    return lacking(grant, ` in the project ${project}`);
  const outside = grants.spaces === undefined ? null : outsideOf(grants, { grant, touches }, place);
  return outside === null ? null : lacking(grant, outside);
}

/** The same for a member's session, which also sees what the grants are for. */
export function lackOfMember(grants: Grants, need: Need, place: GrantPlace): string | null {
  const lack = lackOf(grants, need, place);
  if (lack === null || need.ofMembers === undefined) return lack;
  if (need.ofMembers === 'find') return lackOf(grants, { grant: 'find', touches: need.touches }, place);
  const { project } = place;
  return project === undefined || grants.projects?.includes(project) !== false ? null : lack;
}

/** Whether it may see record spaces with their fields. */
export function seesSpaces({ may }: Grants = {}): boolean {
  return may === undefined || may.includes('structure') || may.includes('find');
}

function lacking(grant: Grant, where: string): string {
  return `The access token is not granted ${grant}${where}`;
}

/** What `spaces` of a token doesn't cover, in words; null: it covers everything that the operation touches. */
function outsideOf(
  { spaces = [], may, publishable }: Grants,
  { grant, touches }: Need,
  { space }: GrantPlace,
): string | null {
  switch (touches) {
    case 'space':
      return spaces.includes(space ?? '') ? null : ` in the record space ${space}`;
    case 'named space':
    case 'granted spaces':
      return null;
    case 'beside spaces':
      // such a token covers nothing else unless `may` lists it
      return may === undefined && (!publishable || grant.startsWith('files:'))
        ? ' beside its record spaces'
        : null;
    default:
      return ' for all record spaces';
  }
}

const everyTouch: readonly TouchedSpaces[] = [
  'space',
  'named space',
  'granted spaces',
  'all spaces',
  'beside spaces',
];

/**
 * Whether everything that the inner grants allow is also allowed by the outer ones. The gate itself answers for each grant,
 * so that the two can't differ. @param outer undefined: everything @param inner undefined: everything
 */
export function covers(outer: Grants | undefined, inner: Grants | undefined): boolean {
  if (outer === undefined) return true;
  if (inner === undefined) return false;
  for (const key of ['projects', 'spaces'] as const) {
    const [wide, narrow] = [outer[key], inner[key]];
    if (wide !== undefined && narrow?.every((slug) => wide.includes(slug)) !== true) return false;
  }
  // hashes are only exported by grants that name it
  if (inner.may?.includes('backup') && !outer.may?.includes('backup')) return false;
  const place = { project: inner.projects?.[0] ?? '-', space: inner.spaces?.[0] ?? '-' };
  const places: readonly GrantPlace[] = [{}, place];
  return grantNames.every((grant) =>
    everyTouch.every((touches) =>
      places.every((at) => {
        const need = { grant, touches };
        return lackOf(inner, need, at) !== null || lackOf(outer, need, at) === null;
      }),
    ),
  );
}

/** Reads grants from JSON; undefined: no limits. */
export function readGrants(value: unknown, problems: string[]): Grants | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) {
    problems.push(`grants should be an object with ${keys.join(', ')}, or null`);
    return undefined;
  }
  const given = value as Record<string, unknown>;
  for (const key of Object.keys(given))
    if (!(keys as readonly string[]).includes(key)) problems.push(`grants has no ${JSON.stringify(key)}`);
  const read = <Name extends string>(
    key: (typeof keys)[number],
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
  const spaces = read('spaces', 'slugs of record spaces', (text) => spaceSlugProblem(text) === null);
  const may = read<Grant>('may', `of ${grantNames.join(', ')}`, (item) => Object.hasOwn(grantMeanings, item));
  const origins = read('origins', 'origins of web pages, such as https://app.example.com', isOrigin);
  const { publishable = false } = given;
  if (typeof publishable !== 'boolean') problems.push('grants.publishable should be true or false');
  else if (publishable !== (origins !== undefined))
    problems.push('grants.publishable and grants.origins belong together: name the origins of the web pages');
  const lists = { projects, spaces, may, origins };
  const said = Object.entries(lists).filter(([, list]) => list !== undefined);
  if (said.length === 0) return undefined;
  return { ...Object.fromEntries(said), ...(origins && { publishable: true }) };
}

/** As browsers send it: RFC 6454 section 7. */
function isOrigin(text: string): boolean {
  return text === '*' || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text);
}

/** The grants as part of a sentence: "may read records in orders of shop". */
export function grantsInWords({ projects, spaces, may, origins }: Grants): string {
  const all = origins === undefined ? 'do everything' : 'find and change records and files';
  const lacked = grantNames.filter((grant) => may?.includes(grant) === false);
  const what =
    may === undefined
      ? all
      : origins === undefined && lacked.length > 0 && lacked.length < may.length
        ? `do everything but ${listedMeanings(lacked)}`
        : listedMeanings(may);
  const ruled = origins === undefined ? [] : [`as rules allow, from pages of ${listed(origins)}`];
  const where = [
    ...(spaces === undefined ? [] : [`in ${listed(spaces)}`]),
    ...(projects === undefined ? [] : [`${spaces === undefined ? 'in' : 'of'} ${listed(projects)}`]),
  ];
  return ['may', what, ...where, ...ruled].join(' ');
}

function listedMeanings(grants: readonly Grant[]): string {
  return listed(grants.map((grant) => grantMeanings[grant]));
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
