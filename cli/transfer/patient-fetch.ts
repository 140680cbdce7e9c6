/** The part of undici's Dispatcher that we need: https://undici.nodejs.org/#/docs/api/Dispatcher */
interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/** Where Node.js stores the dispatcher of `fetch`. */
const usual = Symbol.for('undici.globalDispatcher.1');

/**
 * `fetch` for long transfers. The standard one gives up after five minutes without an answer, but the server completes a
 * Parquet file before it sends any of it. Paths are sent verbatim: a URL would normalize a name of two dots.
 * @param silence milliseconds without a byte in either direction after which it rejects
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
    // otherwise fetch clones the body (https://fetch.spec.whatwg.org/#concept-http-network-or-cache-fetch), and buffers it
    const redirected = init.body == null ? { redirect: 'manual' } : { redirect: 'error', window: null };
    const sent: object = { ...init, headers, ...redirected, dispatcher };
    return fetch(input, sent);
  };
}
