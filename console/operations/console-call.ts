import type { AccessTokens, ReadLimitsOfToken } from '#auth/access-tokens.ts';
import type { Acting } from '#auth/session-store.ts';
import type { TokenCheck } from '#auth/token-check.ts';
import type { ClosedAccounts } from '#catalogue/closed-accounts.ts';
import type { Members } from '#catalogue/members.ts';
import type { Users } from '#catalogue/users.ts';
import type { Config } from '#kernel/config/read-config.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { AddressChanges } from '../accounts/address-changes.ts';
import type { Invitations } from '../accounts/invitations.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { Passwords } from '../accounts/passwords.ts';
import type { Registration } from '../accounts/registration.ts';
import { csrfTokenOf } from '../sessions/csrf.ts';
import type { OidcLogin } from '../sessions/oidc-login.ts';
import type { SessionCookie } from '../sessions/session-cookie.ts';
import type { OpenSession, SessionOrigin, Sessions } from '../sessions/sessions.ts';

export interface ConsoleDeps {
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly passwords: Passwords;
  readonly registration: Registration;
  readonly users: Users;
  /** Null: the server has no provider. */
  readonly oidc: OidcLogin | null;
  readonly members: Members;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly addressChanges: AddressChanges;
  readonly closed: Pick<ClosedAccounts, 'delete'>;
  readonly tokens: AccessTokens;
  readonly tokenCheck: Pick<TokenCheck, 'invalidate'>;
  /** The upper limits of reads; a token may have lower ones. */
  readonly readLimits: Required<ReadLimitsOfToken>;
  readonly mode: Config['registration'];
  /** Base address of the API; empty: the dashboard's own. */
  readonly apiUrl: string;
  /** Whether anyone with the permanent link of a file can read it. */
  readonly filesArePublic: boolean;
  /** How long deleted files are in the trash; 0: there is no trash. */
  readonly trashDays: number;
  /** Whether a scanner holds files back until it has looked at them. */
  readonly scansFiles: boolean;
}

/** A request of the dashboard's API with its session. */
export interface ConsoleCall<Session extends OpenSession | null = OpenSession | null> {
  readonly request: HttpRequest;
  readonly session: Session;
  /** The address of the sender, for fair shares between senders. */
  readonly sender: string;
  /** The body as JSON. */
  body(): Promise<unknown>;
}

/** Handles an operation that works without a session. */
export type ConsoleHandler = (call: ConsoleCall, deps: ConsoleDeps) => Promise<HttpResponse>;
/** Handles an operation that needs a session. */
export type SessionHandler = (call: ConsoleCall<OpenSession>, deps: ConsoleDeps) => Promise<HttpResponse>;
/** Handles an operation of the owner, and of members who manage the account. */
export type ManagerHandler = (
  call: ConsoleCall<OpenSession> & { readonly acting: Acting },
  deps: ConsoleDeps,
) => Promise<HttpResponse>;

export function originOf(request: HttpRequest): SessionOrigin {
  return { agent: request.header('user-agent') ?? '', address: request.address };
}

const headers = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;

export function jsonAnswer(status: number, value: unknown, more: HttpResponse['headers'] = {}): HttpResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8', ...more },
    body: JSON.stringify(value),
  };
}

/** Sends the browser on; other headers may set a cookie. */
export function redirectAnswer(location: string, more: HttpResponse['headers'] = {}): HttpResponse {
  return { status: 302, headers: { ...headers, 'referrer-policy': 'no-referrer', location, ...more } };
}

export function emptyAnswer(more: HttpResponse['headers'] = {}): HttpResponse {
  return { status: 204, headers: { ...headers, ...more } };
}

/** The session, and what a page needs to know about the server. @param begun the request, if it began the session */
export async function sessionAnswer(
  status: number,
  session: OpenSession | null,
  deps: ConsoleDeps,
  begun?: HttpRequest,
): Promise<HttpResponse> {
  const { registration, mode, apiUrl, filesArePublic, trashDays, scansFiles, cookie, oidc } = deps;
  const { canRegister, canClaim } = await registration.state();
  const value = {
    account: session === null ? null : userJson(session),
    acting: session === null ? null : actingJson(session),
    accounts: session === null ? [] : await accountsOf(session, deps),
    csrfToken: session === null ? null : csrfTokenOf(session.cookie),
    registration: mode,
    canRegister,
    canClaim,
    apiUrl,
    filesArePublic,
    trashDays,
    scansFiles,
    oidcHost: oidc?.host ?? null,
  };
  const isNew = begun !== undefined && session !== null;
  return jsonAnswer(status, value, isNew ? { 'set-cookie': cookie.set(begun, session.cookie) } : {});
}

function userJson({ account: { id, email, name, passwordHash } }: OpenSession) {
  return { id, email, name, hasPassword: passwordHash !== '' };
}

/** Null: the user is no longer a member of the account that the session acts for. */
function actingJson({ acting }: OpenSession) {
  if (acting === null) return null;
  const { account, grants, manages } = acting;
  return { id: account.id, email: account.email, name: account.name, grants: grants ?? null, manages };
}

/** The accounts that the user may enter, the own one first. */
async function accountsOf({ account }: OpenSession, { members, users }: ConsoleDeps) {
  const others = await members.ofUser(account.id);
  const found = await Promise.all(others.map(({ accountId }) => users.findById(accountId)));
  return [account, ...found.filter((other) => other !== null)].map(({ id, email, name }) => ({
    id,
    email,
    name,
  }));
}
