import type { Headers } from './http-types.ts';

const exposed = [
  'etag, content-range, accept-ranges, repr-digest, x-request-id, retry-after, idempotent-replayed',
  'accept-query, sluice-total-count, link, sluice-next-after, server-timing',
  // tus clients read these: https://tus.io/protocols/resumable-upload
  'location, upload-offset, upload-length, upload-defer-length, upload-metadata, upload-expires, upload-concat',
  'upload-complete, upload-limit, tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm',
].join(', ');
const headerList = /^[A-Za-z0-9!#$%&'*+.^_`|~ ,-]{1,4096}$/;

const anyOrigin = { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
const refused = { vary: 'Origin' };

/** Cross-origin answers for browsers: https://fetch.spec.whatwg.org/#http-cors-protocol */
export class CorsPolicy {
  readonly #origins: readonly string[];

  /** @param origins allowed origins; `*` allows all (no credentials are ever involved: tokens are sent by hand) */
  constructor(origins: readonly string[]) {
    this.#origins = origins;
  }

  /** Headers for any answer to a request with this Origin header. */
  answerHeaders(origin: string): Headers {
    if (this.#origins.includes('*')) return anyOrigin;
    if (!this.#origins.includes(origin)) return refused;
    return { ...anyOrigin, 'access-control-allow-origin': origin, vary: 'Origin' };
  }

  preflightHeaders(origin: string, requestedHeaders: string | undefined, allow: readonly string[]): Headers {
    const headers = this.answerHeaders(origin);
    if (headers['access-control-allow-origin'] === undefined) return headers;
    return {
      ...headers,
      'access-control-allow-methods': allow.join(', '),
      // `*` doesn't cover Authorization, so the list that was asked for is granted as it is
      ...(requestedHeaders !== undefined && headerList.test(requestedHeaders)
        ? { 'access-control-allow-headers': requestedHeaders }
        : {}),
      'access-control-max-age': '86400',
      vary: 'Origin, Access-Control-Request-Headers',
    };
  }
}
