import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import type { Projects } from '#catalogue/projects.ts';
import { notAllowed, unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { ruledFileGrants } from '#kernel/grants.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { continueWith } from '#kernel/limits/continue-with.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { actAsUser, actsAsUser } from './act-as-user.ts';
import type { Authenticate, Principal } from './authenticate.ts';
import { hasEnded } from './login-state.ts';
import type { LoginClaims, LoginTokens } from './login-tokens.ts';
import type { SharedLoginStates } from './shared-login-states.ts';

/** Whether a record space still has a user. @param user.claims of a login token, which must not have ended; absent: none */
export type IsUser = (
  user: { readonly spaceId: string; readonly id: string; readonly claims?: LoginClaims },
  signal: AbortSignal,
) => Promise<boolean>;

interface FileSendersDeps {
  readonly authenticate: Authenticate;
  readonly projects: Pick<Projects, 'find'>;
  readonly loginTokens: Pick<LoginTokens, 'verify'>;
  readonly loginStates?: SharedLoginStates | undefined;
}

/** Authenticates requests for files, and binds some of them by the rules of the project's files. */
export class FileSenders {
  readonly #deps: FileSendersDeps;
  // records belong to the query service, which may be another process
  #isUser: IsUser = async ({ claims, ...user }) => {
    const state = claims && (await this.#deps.loginStates?.get(user));
    return !state || !hasEnded(state, claims?.login);
  };

  constructor(deps: FileSendersDeps) {
    this.#deps = deps;
  }

  /** Called once by the service that has the records of users. */
  askForUsers(isUser: IsUser): void {
    this.#isUser = isUser;
  }

  /**
   * Like `Authenticate`, with `bound` for a publishable token, and for a request that acts as a user. Throws 403 if the
   * project has no rules, or does not exist, and 401 for an invalid login token.
   */
  readonly authenticate = (request: HttpRequest): Principal | Promise<Principal> =>
    continueWith(this.#deps.authenticate(request, 'by rules'), (principal) => {
      if (principal.grants?.publishable) return this.#bind(request, principal);
      if (request.header(actAsUser) === undefined) return principal;
      return actsAsUser(request, ruledFileGrants) ? this.#bind(request, principal) : principal;
    });

  /** The sender for whom an earlier request was bound. Throws 403 without rules, or without the user. */
  readonly boundAs = async (
    ownerId: string,
    projectSlug: string,
    user: string | null,
    signal: AbortSignal,
  ): Promise<BoundSender> => {
    const project = await this.#deps.projects.find(ownerId, projectSlug, signal);
    const rules = project?.fileRules;
    if (rules === undefined) throw nobodyMay();
    const spaceId = uuidV5(ownerId, projectSlug, rules.users);
    if (user !== null && !(await this.#isUser({ spaceId, id: user }, signal)))
      throw notAllowed('The user for whom the upload was begun does not exist any more');
    return { user, rules };
  };

  async #bind(request: HttpRequest, principal: Principal): Promise<Principal> {
    const { userId, admit } = principal;
    const { signal, params } = request;
    const { project: projectSlug = '' } = params;
    const project = await this.#deps.projects.find(userId, projectSlug, signal);
    const rules = project?.fileRules ?? null;
    const token = rules === null ? null : request.header('token') || null;
    const usersId = rules === null ? '' : uuidV5(userId, projectSlug, rules.users);
    const user =
      token === null ? null : await this.#userOf(token, { projectId: project?.id, usersId }, signal);
    await admit?.(user === null ? addressOwner(request.address) : `user ${user}`);
    if (token !== null && user === null)
      throw unauthorized(
        `The header token holds no login token of a user of the record space ${shownName(rules?.users ?? '')}`,
      );
    if (rules === null) throw nobodyMay();
    return { ...principal, bound: { user, rules } };
  }

  async #userOf(
    token: string,
    { projectId, usersId }: { readonly projectId: string | undefined; readonly usersId: string },
    signal: AbortSignal,
  ): Promise<string | null> {
    const claims = await this.#deps.loginTokens.verify(token);
    if (claims === null || claims.projectId !== projectId || claims.spaceId !== usersId) return null;
    const { recordId: id, spaceId } = claims;
    return (await this.#isUser({ spaceId, id, claims }, signal)) ? id : null;
  }
}

/** The same error if the project has no rules, or does not exist: it must not reveal which. */
function nobodyMay(): Error {
  return notAllowed(
    'The project has no rules for its files, or does not exist: publishable tokens and users get none',
  );
}
