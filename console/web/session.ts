import { signal } from '@preact/signals';
import type { Grants } from '#kernel/grants.ts';
import { problemOf } from './problem.ts';

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

/** The account that the session acts for, and what its user may do there. */
export interface ActingAccount extends Account {
  /** Null: everything. */
  readonly grants: Grants | null;
  /** Whether the user manages tokens and members. */
  readonly manages: boolean;
}

/** GET /_console_/api/session */
export interface Session {
  /** The user. */
  readonly account: (Account & { readonly hasPassword: boolean }) | null;
  /** Null: the user is no longer a member of the account. */
  readonly acting: ActingAccount | null;
  /** The accounts that the user may enter, the own one first. */
  readonly accounts: readonly Account[];
  readonly csrfToken: string | null;
  readonly registration: 'first' | 'open' | 'closed';
  readonly canRegister: boolean;
  readonly canClaim: boolean;
  /** Base address of the API; empty for this origin. */
  readonly apiUrl: string;
  /** Whether anyone with the permanent link of a file can read it. */
  readonly filesArePublic: boolean;
  /** How long deleted files are in the trash; 0: there is no trash. */
  readonly trashDays: number;
  /** Whether a scanner holds files back until it has looked at them. */
  readonly scansFiles: boolean;
  /** Of the provider of OpenID Connect; null: none. */
  readonly oidcHost: string | null;
}

/** null until the server has answered. */
export const session = signal<Session | null>(null);

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** sent as JSON */
  readonly json?: unknown;
  /** sent as it is */
  readonly body?: Blob | FormData | string;
  readonly signal?: AbortSignal | undefined;
  /** Time limit for the first byte of the answer. */
  readonly timeoutMs?: number;
}

/** @param credentials whether cookies are sent */
export function send(url: string, call: Call, credentials: RequestCredentials): Promise<Response> {
  const { method = 'GET', headers = {}, json, body = null, signal, timeoutMs = 60_000 } = call;
  const deadline = AbortSignal.timeout(timeoutMs);
  return fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      ...headers,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: json === undefined ? body : JSON.stringify(json),
    credentials,
    cache: 'no-store',
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
  });
}

export async function jsonOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Throws a Problem unless 2xx. */
export async function requireOk(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw problemOf(response.status, await response.text(), (name) => response.headers.get(name));
}

/** Calls the console's own API, which is about accounts, sessions and access tokens. Throws a Problem unless 2xx. */
export async function callConsole<T>(path: string, call: Call = {}): Promise<T> {
  const { method = 'GET', json = {} } = call;
  const headers = { 'x-csrf-token': session.value?.csrfToken ?? '' };
  const changes = method === 'GET' ? {} : { headers, json };
  const sent = { ...call, ...changes, timeoutMs: 30_000 };
  const response = await send(`/_console_/api${path}`, sent, 'same-origin');
  // the session has ended; a login also answers 401, for a wrong password
  if (response.status === 401 && session.value?.account) forgetSession();
  return jsonOf<T>(await requireOk(response));
}

export async function loadSession(): Promise<void> {
  session.value = await callConsole<Session>('/session');
}

/** Acts for another account, in a new session. */
export async function enterAccount(id: string): Promise<void> {
  session.value = await callConsole<Session>('/enter', { method: 'POST', json: { account: id } });
}

/** Forgets the account: the app shows the login page, and returns here after the login. */
export function forgetSession(): void {
  if (session.value !== null)
    session.value = { ...session.value, account: null, acting: null, accounts: [], csrfToken: null };
}
