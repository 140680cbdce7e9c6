import { assertBackup, assertGranted } from '#auth/authenticate.ts';
import { hasEnded, loginStateOf } from '#auth/login-state.ts';
import type { LoginClaims, LoginTokens } from '#auth/login-tokens.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Grants, inSpace, lackOf } from '#kernel/grants.ts';
import { spaceSlugProblem } from '#kernel/ids/slug.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { allRecords } from '#records/input/parse-conditions.ts';
import { unparsedOptions } from '#records/input/parse-options.ts';
import { ruled } from '#records/ruled.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import { rowTest } from '#records/store/row-test.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { covers, type OperationIdentity, type SpaceAuth } from '#records/structure/space-auth.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { Authorize } from '../space/open-space.ts';
import type { Spaces } from '../space/spaces.ts';

const toFind = inSpace('find');

export interface LoginParts {
  readonly loginTokens: LoginTokens;
}

type OwnerParts = LoginParts & { readonly store: Pick<RecordStore, 'lookUp'> };

export function createAuthorize(deps: OwnerParts & { readonly spaces: Spaces }): Authorize {
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
      const needed = `a login token of a user of the record space ${shownName(rule.space)}`;
      if (token === null) throw unauthorized(`${operation.name} needs ${needed} in the header token`);
      if (!(await isUser(rule, token, args)))
        throw unauthorized(`${operation.name} needs ${needed}; the header token holds none`);
    }
  };
}

/** Whether a request is about the data of all users of an application, so that no single user may send it. */
function isBackup({ name }: OperationIdentity, { query }: HttpRequest): boolean {
  if (name === 'import') return query.some(([key]) => key === 'keep');
  return name.startsWith('export') && query.some(([key, value]) => key === '$hashes' && value === 'true');
}

/** The stored rule, and the request's rule if it was not stored (`mutate: false`). */
function rulesOf({ stored, structure }: RecordSpace): readonly SpaceAuth[] {
  return [stored.auth, structure.auth].filter(
    (rule, index, all): rule is SpaceAuth => rule?.active === true && all.indexOf(rule) === index,
  );
}

/**
 * Finds a space by the slug that another space names. The published client names it by its name, whose lower case is the
 * slug. Returns the first one that exists and may be read. Throws 403 if none may be read.
 */
export async function findNamed(
  spaces: Spaces,
  name: string,
  scope: { readonly ownerId: string; readonly projectSlug: string; readonly grants?: Grants | undefined },
  signal: AbortSignal,
): Promise<RecordSpace | null> {
  const { ownerId, projectSlug: project, grants } = scope;
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

/** The login token of a request; null: it has none. */
export function loginTokenOf(request: HttpRequest, { structure }: RecordSpace): string | null {
  const header = request.header('token');
  if (header !== undefined && header !== '') return header;
  const { token } = unparsedOptions(request.header('options'));
  if (typeof token === 'string' && token !== '') return token;
  return structure.auth?.token ?? null;
}

/**
 * The record of a login token's user. Null if the token is invalid, expired, or of another account, project or space, if its
 * login has ended, or if the user was deleted or may not be found.
 */
export async function tokenOwner(
  deps: OwnerParts,
  users: RecordSpace,
  token: string,
  signal: AbortSignal,
): Promise<StoredRow | null> {
  const row = (await tokenLogin(deps, users, token, signal))?.row ?? null;
  return row !== null && rowTest(ruled(users, allRecords))(row) ? row : null;
}

/** The same, whatever rules let the user find. */
export async function tokenLogin(
  deps: OwnerParts,
  users: RecordSpace,
  token: string,
  signal: AbortSignal,
): Promise<{ readonly claims: LoginClaims; readonly row: StoredRow } | null> {
  const claims = await loginClaims(deps, users, token);
  if (claims === null) return null;
  const [row] = await deps.store.lookUp(users, { id: claims.recordId }, signal);
  return row === undefined || hasEnded(loginStateOf(row), claims.login) ? null : { claims, row };
}

/** The claims of a login token, if its user is in this space; otherwise null. */
export function loginClaims(
  { loginTokens }: LoginParts,
  users: RecordSpace,
  token: string,
): LoginClaims | null | Promise<LoginClaims | null> {
  return continueWith(loginTokens.verify(token), (claims) =>
    claims?.spaceId === users.id && claims.projectId === users.projectId ? claims : null,
  );
}
