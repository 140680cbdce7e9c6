/** The part of undici's Dispatcher that is needed: https://undici.nodejs.org/#/docs/api/Dispatcher */
interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/** Where Node.js keeps what `fetch` sends by. */
const usual = Symbol.for('undici.globalDispatcher.1');

/**
 * `fetch` for long transfers. By itself it gives up after five minutes without an answer, and the server makes a whole
 * Parquet file before it sends any of it. Paths are sent as they are: a URL would lose a name of two dots.
 * @param silence milliseconds without a byte in either direction, after which it rejects
 */
export function patientFetch(silence: number): typeof fetch {
  return (input, init = {}) => {
    const path = String(input).replace(/^https?:\/\/[^/]*/, '');
    const dispatcher: Dispatcher = {
      dispatch: (options, handler) =>
        (globalThis as unknown as { readonly [usual]: Dispatcher })[usual].dispatch(
          { ...options, path, headersTimeout: silence, bodyTimeout: silence },
          handler,
        ),
    };
    const headers = { 'accept-encoding': 'identity', ...(init.headers as Record<string, string>) };
    // a body of any other request is cloned (https://fetch.spec.whatwg.org/#concept-http-network-or-cache-fetch), and held
    const redirected = init.body == null ? { redirect: 'manual' } : { redirect: 'error', window: null };
    const sent: object = { ...init, headers, ...redirected, dispatcher };
    return fetch(input, sent);
  };
}
