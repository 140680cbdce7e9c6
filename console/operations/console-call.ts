import type { AccessTokens, ReadLimitsOfToken } from '#auth/access-tokens.ts';
import type { TokenCheck } from '#auth/token-check.ts';
import type { Config } from '#kernel/config/read-config.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { Passwords } from '../accounts/passwords.ts';
import type { Registration } from '../accounts/registration.ts';
import { csrfTokenOf } from '../sessions/csrf.ts';
import type { SessionCookie } from '../sessions/session-cookie.ts';
import type { OpenSession, Sessions } from '../sessions/sessions.ts';

export interface ConsoleDeps {
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly passwords: Passwords;
  readonly registration: Registration;
  readonly tokens: AccessTokens;
  readonly tokenCheck: Pick<TokenCheck, 'invalidate'>;
  /** The upper limits of reads; a token may have lower ones. */
  readonly readLimits: Required<ReadLimitsOfToken>;
  readonly mode: Config['registration'];
  /** Base address of the API; empty: the dashboard's own. */
  readonly apiUrl: string;
  /** Whether anyone with the permanent link of a file can read it. */
  readonly filesArePublic: boolean;
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

export function emptyAnswer(more: HttpResponse['headers'] = {}): HttpResponse {
  return { status: 204, headers: { ...headers, ...more } };
}

/** The session, and what a page needs to know about the server. @param begun the request, if it began the session */
export async function sessionAnswer(
  status: number,
  session: OpenSession | null,
  { registration, mode, apiUrl, filesArePublic, cookie }: ConsoleDeps,
  begun?: HttpRequest,
): Promise<HttpResponse> {
  const { canRegister, canClaim } = await registration.state();
  const { id, email, name } = session?.account ?? {};
  const value = {
    account: session === null ? null : { id, email, name },
    csrfToken: session === null ? null : csrfTokenOf(session.cookie),
    registration: mode,
    canRegister,
    canClaim,
    apiUrl,
    filesArePublic,
  };
  const isNew = begun !== undefined && session !== null;
  return jsonAnswer(status, value, isNew ? { 'set-cookie': cookie.set(begun, session.cookie) } : {});
}
