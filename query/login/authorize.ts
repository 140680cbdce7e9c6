import type { LoginTokens } from '../../common/auth/login-tokens.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { slugProblem } from '../../common/control/slug.ts';
import { uuidV5 } from '../../common/control/uuid-v5.ts';
import { unauthorized } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { unparsedOptions } from '../input/unparsed-options.ts';
import { familyOf, type OperationName } from '../record-operation.ts';
import type { Spaces } from '../space/resolve-space.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { SpaceAuth } from '../structure/space-auth.ts';
import { tokenOwner } from './token-owner.ts';

export interface OperationOnSpace {
  readonly request: HttpRequest;
  readonly operation: OperationName;
  readonly space: RecordSpace;
  readonly ownerId: string;
  readonly projectSlug: string;
}

/** Throws 401 when a space's `authOptions` want a login token for an operation and the request has no good one. */
export type Authorize = (args: OperationOnSpace) => Promise<void>;

export function createAuthorize(deps: { db: Database; spaces: Spaces; loginTokens: LoginTokens }): Authorize {
  const { spaces } = deps;

  const isUser = async (rule: SpaceAuth, token: string, args: OperationOnSpace): Promise<boolean> => {
    const { request, ownerId, projectSlug } = args;
    for (const slug of usersSlugs(rule.space)) {
      const users = await spaces.find(uuidV5(ownerId, projectSlug, slug), request.signal);
      // only the first of them that exists is meant
      if (users !== null) return (await tokenOwner(deps, users, token, request.signal)) !== null;
    }
    return false;
  };

  return async (args) => {
    const { space, operation, request } = args;
    const rules = rulesOf(space).filter((rule) => covers(rule, operation));
    if (rules.length === 0) return;
    const token = loginTokenOf(request, space);
    for (const rule of rules) {
      const of = `a login token of a user of the record space ${shownName(rule.space)}`;
      if (token === null) throw unauthorized(`${operation} needs ${of} in the header token`);
      if (!(await isUser(rule, token, args))) throw unauthorized(`${operation} needs ${of}; this is none`);
    }
  };
}

/** The stored rule counts, and so does the request's own where it may not be stored (`mutate: false`). */
function rulesOf({ stored, structure }: RecordSpace): readonly SpaceAuth[] {
  return [stored.auth, structure.auth].filter(
    (rule, index, all): rule is SpaceAuth => rule?.active === true && all.indexOf(rule) === index,
  );
}

function covers({ scope }: SpaceAuth, operation: OperationName): boolean {
  const family = familyOf(operation);
  return family !== null && (scope.includes(family) || scope.includes(operation));
}

/** The space is given by its slug, or as the published client does by its name, whose slug is in lower case. */
function usersSlugs(space: string): readonly string[] {
  return [...new Set([space, space.toLowerCase()])].filter((slug) => slugProblem('', slug) === null);
}

function loginTokenOf(request: HttpRequest, { structure }: RecordSpace): string | null {
  const given = request.header('token');
  if (given !== undefined && given !== '') return given;
  const { token } = unparsedOptions(request);
  if (typeof token === 'string' && token !== '') return token;
  return structure.auth?.token ?? null;
}
