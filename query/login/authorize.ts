import { assertBackup, assertGranted } from '#auth/authenticate.ts';
import type { LoginClaims, LoginTokens } from '#auth/login-tokens.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Grants, inSpace, lackOf } from '#kernel/grants.ts';
import { spaceSlugProblem } from '#kernel/ids/slug.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { unparsedOptions } from '#records/input/parse-options.ts';
import type { RecordReader } from '#records/record-reader.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { covers, type OperationIdentity, type SpaceAuth } from '#records/structure/space-auth.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { Authorize } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';

const toFind = inSpace('find');

export interface LoginParts {
  readonly loginTokens: LoginTokens;
}

export function createAuthorize(deps: LoginParts & { reader: RecordReader; spaces: Spaces }): Authorize {
  const { spaces } = deps;

  const isUser = async (
    rule: SpaceAuth,
    token: string,
    { request, space, projectSlug }: Parameters<Authorize>[0],
  ): Promise<boolean> => {
    const { signal } = request;
    const users = await findNamed(spaces, rule.space, { ownerId: space.ownerId, projectSlug }, signal);
    return users !== null && (await tokenOwner(deps, users, token, signal)) !== null;
  };

  return async (args) => {
    const { space, operation, request, grants, projectSlug } = args;
    const place = { project: projectSlug, space: space.structure.slug };
    if (operation.family !== null) assertGranted(grants, inSpace(operation.family), place);
    if (isBackup(operation, request)) {
      assertBackup(grants, 'space', place);
      return;
    }
    const rules = rulesOf(space).filter((rule) => covers(rule, operation));
    if (rules.length === 0) return;
    const token = loginTokenOf(request, space);
    for (const rule of rules) {
      const of = `a login token of a user of the record space ${shownName(rule.space)}`;
      if (token === null) throw unauthorized(`${operation.name} needs ${of} in the header token`);
      if (!(await isUser(rule, token, args)))
        throw unauthorized(`${operation.name} needs ${of}; this is none`);
    }
  };
}

/** Whether a request is for all that the users of an application have, and so for none of them alone. */
function isBackup({ name }: OperationIdentity, { query }: HttpRequest): boolean {
  if (name === 'import') return query.some(([key]) => key === 'keep');
  return name.startsWith('export') && query.some(([key, value]) => key === '$hashes' && value === 'true');
}

/** The stored rule counts, and so does the request's own where it may not be stored (`mutate: false`). */
function rulesOf({ stored, structure }: RecordSpace): readonly SpaceAuth[] {
  return [stored.auth, structure.auth].filter(
    (rule, index, all): rule is SpaceAuth => rule?.active === true && all.indexOf(rule) === index,
  );
}

/**
 * A space that another one names: by its slug, or by its name as the published client does, with the slug in lower case.
 * Only the first of them that exists, and may be read, is meant. Throws 403 when none may.
 */
export async function findNamed(
  spaces: Spaces,
  name: string,
  asked: { readonly ownerId: string; readonly projectSlug: string; readonly grants?: Grants | undefined },
  signal: AbortSignal,
): Promise<RecordSpace | null> {
  const { ownerId, projectSlug: project, grants } = asked;
  const slugs = [...new Set([name, name.toLowerCase()])].filter((slug) => spaceSlugProblem(slug) === null);
  const granted = slugs.filter(
    (space) => grants === undefined || lackOf(grants, toFind, { project, space }) === null,
  );
  if (granted.length === 0) assertGranted(grants, toFind, { project, space: name });
  for (const slug of granted) {
    const found = await spaces.find(uuidV5(ownerId, project, slug), signal);
    if (found !== null) return found;
  }
  return null;
}

/** Of a request; null: there is none. */
export function loginTokenOf(request: HttpRequest, { structure }: RecordSpace): string | null {
  const given = request.header('token');
  if (given !== undefined && given !== '') return given;
  const { token } = unparsedOptions(request.header('options'));
  if (typeof token === 'string' && token !== '') return token;
  return structure.auth?.token ?? null;
}

/**
 * The record of the user whom a login token speaks for, as JSON text. Null when the token is none, has expired, is of
 * another account, project or space, or when the user is gone.
 */
export async function tokenOwner(
  deps: LoginParts & { reader: RecordReader },
  users: RecordSpace,
  token: string,
  signal: AbortSignal,
): Promise<string | null> {
  const claims = await loginClaims(deps, users, token);
  return claims && deps.reader.byId(users, claims.recordId, signal);
}

/** What a login token says of a user of this space; null: it does not. */
export function loginClaims(
  { loginTokens }: LoginParts,
  users: RecordSpace,
  token: string,
): LoginClaims | null | Promise<LoginClaims | null> {
  return continueWith(loginTokens.verify(token), (claims) =>
    claims?.spaceId === users.id && claims.projectId === users.projectId ? claims : null,
  );
}
