import { effect } from '@preact/signals';
import { problemOf } from './problem.ts';
import { callConsole, session, withDeadline } from './session.ts';

/** Until the first byte of an answer. */
const deadlineMs = 60_000;
/** A token this close to its end is renewed before it is used. */
const renewBeforeMs = 60_000;

export interface ApiCall {
  readonly method?: string;
  /** undefined values are left out */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** sent as JSON */
  readonly json?: unknown;
  /** sent as it is */
  readonly body?: Blob | FormData | string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

/**
 * Calls the public API with an access token of this session. Throws a Problem unless 2xx.
 * @param path made by `address`, so that what comes from data can't change it
 */
export async function callApi(path: string, call: ApiCall = {}): Promise<Response> {
  let response = await send(path, call, await accessToken());
  if (response.status === 401) {
    // revoked, or the clock of this machine is wrong: once more with a new one
    await response.body?.cancel();
    response = await send(path, call, await accessToken({ renew: true }));
  }
  if (response.ok) return response;
  throw problemOf(response.status, await response.text(), (name) => response.headers.get(name));
}

/** The same, with its answer parsed; undefined for an empty one. */
export async function callJson<T>(path: string, call: ApiCall = {}): Promise<T> {
  const response = await callApi(path, call);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** The path of an operation: address`/_f_/${project}/${name}`. Each value is one segment, or one value of a query. */
export function address(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return parts.reduce((path, part, index) => `${path}${encodeURIComponent(values[index - 1] ?? '')}${part}`);
}

/** The address of the API in texts to copy: absolute, without a slash at its end. */
export function apiBase(): string {
  return (session.value?.apiUrl || window.location.origin).replace(/\/$/, '');
}

/** The full address of an operation, as requests of this app use it. */
export function apiAddress(path: string): string {
  return `${(session.value?.apiUrl ?? '').replace(/\/$/, '')}${path}`;
}

function send(path: string, call: ApiCall, token: string): Promise<Response> {
  const { method = 'GET', query = {}, headers = {}, json, body, signal, timeoutMs = deadlineMs } = call;
  const given = Object.entries(query).filter((entry) => entry[1] !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return fetch(`${apiAddress(path)}${search === '' ? '' : `?${search}`}`, {
    method,
    headers: {
      accept: 'application/json',
      ...headers,
      authorization: `Bearer ${token}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: json === undefined ? (body ?? null) : JSON.stringify(json),
    credentials: 'omit',
    cache: 'no-store',
    signal: withDeadline(signal, timeoutMs),
  });
}

interface IssuedToken {
  readonly token: string;
  readonly expiresAt: string;
}

// In memory only: a script elsewhere on this origin, or a stolen disk, finds nothing to use.
let current: IssuedToken | null = null;
let renewal: Promise<IssuedToken> | null = null;

/** The token for requests to the public API; asks for one when there is none, or it is about to expire. */
export async function accessToken({ renew = false }: { renew?: boolean } = {}): Promise<string> {
  const fresh = current !== null && Date.parse(current.expiresAt) - Date.now() > renewBeforeMs;
  if (current !== null && fresh && !renew) return current.token;
  // one renewal for all requests that wait, and none of them can give it up for the others
  renewal ??= callConsole<IssuedToken>('/token', { method: 'POST' }).finally(() => {
    renewal = null;
  });
  current = await renewal;
  return current.token;
}

effect(() => {
  // another account, or none: its token goes with it
  session.value?.account?.id;
  current = null;
});
