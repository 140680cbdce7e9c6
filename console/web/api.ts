import { effect } from '@preact/signals';
import { type Call, callConsole, jsonOf, requireOk, send, session } from './session.ts';

/** A token this close to its expiry is renewed before use. */
const renewBeforeMs = 60_000;

export interface ApiCall extends Call {
  /** undefined values are left out */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
}

/**
 * Calls the public API with an access token of this session. Throws a Problem unless 2xx.
 * @param path made by `address`, so that data can't change it
 */
export async function callApi(path: string, call: ApiCall = {}): Promise<Response> {
  const defined = Object.entries(call.query ?? {}).filter((entry) => entry[1] !== undefined);
  const search = new URLSearchParams(defined.map(([name, value]) => [name, String(value)])).toString();
  const url = `${apiAddress(path)}${search === '' ? '' : `?${search}`}`;
  const sendWith = (token: string): Promise<Response> =>
    send(url, { ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } }, 'omit');
  let response = await sendWith(await accessToken());
  if (response.status === 401) {
    // the token was revoked, or this machine's clock is wrong: try once more with a new token
    await response.body?.cancel();
    response = await sendWith(await accessToken({ renew: true }));
  }
  return requireOk(response);
}

export async function callJson<T>(path: string, call: ApiCall = {}): Promise<T> {
  return jsonOf<T>(await callApi(path, call));
}

/** The base URL of the API for samples: absolute, without a trailing slash. */
export function apiBase(): string {
  return (session.value?.apiUrl || window.location.origin).replace(/\/$/, '');
}

/** The address of an operation for requests of this app. */
export function apiAddress(path: string): string {
  return `${(session.value?.apiUrl ?? '').replace(/\/$/, '')}${path}`;
}

interface IssuedToken {
  readonly token: string;
  readonly expiresAt: string;
}

// In memory only: a script elsewhere on this origin, or a stolen disk, finds nothing to use.
let current: IssuedToken | null = null;
let renewal: Promise<IssuedToken> | null = null;

/** The token for requests to the public API. Requests a new one if there is none, or it is about to expire. */
export async function accessToken({ renew = false }: { renew?: boolean } = {}): Promise<string> {
  const fresh = current !== null && Date.parse(current.expiresAt) - Date.now() > renewBeforeMs;
  if (current !== null && fresh && !renew) return current.token;
  // all waiting requests share one renewal, which none of them can abort
  renewal ??= callConsole<IssuedToken>('/token', { method: 'POST' }).finally(() => {
    renewal = null;
  });
  current = await renewal;
  return current.token;
}

effect(() => {
  // the token belongs to the session, and so to the account that it acts for
  session.value?.csrfToken;
  current = null;
});
