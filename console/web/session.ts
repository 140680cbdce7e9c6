import { signal } from '@preact/signals';
import { problemOf } from './problem.ts';

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

/** GET /_console_/api/session */
export interface Session {
  readonly account: Account | null;
  readonly csrfToken: string | null;
  readonly registration: 'first' | 'open' | 'closed';
  readonly canRegister: boolean;
  readonly canClaim: boolean;
  /** Base address of the API; empty for this origin. */
  readonly apiUrl: string;
}

/** null until the server has answered. */
export const session = signal<Session | null>(null);

const deadlineMs = 30_000;

export interface ConsoleCall {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Calls the console's own API, which is about accounts, sessions and access tokens. Throws a Problem unless 2xx. */
export async function callConsole<T>(
  path: string,
  { method = 'GET', body, signal }: ConsoleCall = {},
): Promise<T> {
  const csrfToken = session.value?.csrfToken;
  const response = await fetch(`/_console_/api${path}`, {
    method,
    headers: {
      accept: 'application/json',
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...(method === 'GET' || !csrfToken ? {} : { 'x-csrf-token': csrfToken }),
    },
    body: method === 'GET' ? null : JSON.stringify(body ?? {}),
    credentials: 'same-origin',
    cache: 'no-store',
    signal: withDeadline(signal, deadlineMs),
  });
  const text = await response.text();
  if (!response.ok) {
    const problem = problemOf(response.status, text, (name) => response.headers.get(name));
    // the session is over; login itself says 401 for a wrong password
    if (response.status === 401 && session.value?.account) forgetSession();
    throw problem;
  }
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export async function loadSession(): Promise<void> {
  session.value = await callConsole<Session>('/session');
}

/** Back to nobody: the app shows the login page, and comes back here afterwards. */
export function forgetSession(): void {
  if (session.value !== null) session.value = { ...session.value, account: null, csrfToken: null };
}

export function withDeadline(signal: AbortSignal | undefined, milliseconds: number): AbortSignal {
  const deadline = AbortSignal.timeout(milliseconds);
  return signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
}
