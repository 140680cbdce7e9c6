/** Cross-origin answers for browsers: https://fetch.spec.whatwg.org/#http-cors-protocol */
export interface CorsPolicy {
  /** Headers for any answer to a request with this Origin header; empty when it isn't allowed. */
  answerHeaders(origin: string): Readonly<Record<string, string>>;
  /** Headers of a preflight's answer. */
  preflightHeaders(
    origin: string,
    requestedHeaders: string | undefined,
    allow: readonly string[],
  ): Readonly<Record<string, string>>;
}

const exposed = [
  'etag, content-range, accept-ranges, repr-digest, x-request-id, retry-after, idempotent-replayed',
  'accept-query, sluice-total-count, server-timing',
  // what tus clients read: https://tus.io/protocols/resumable-upload
  'location, upload-offset, upload-length, upload-defer-length, upload-metadata, upload-expires, upload-concat',
  'upload-complete, upload-limit, tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm',
].join(', ');
const headerList = /^[A-Za-z0-9!#$%&'*+.^_`|~ ,-]{1,4096}$/;

/** @param origins allowed origins; `*` allows all (no credentials are ever involved: tokens are sent by hand) */
export function createCorsPolicy(origins: readonly string[]): CorsPolicy {
  const any = origins.includes('*');
  const anyHeaders = { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed };
  const refused = { vary: 'Origin' };
  const answerHeaders = (origin: string): Readonly<Record<string, string>> => {
    if (any) return anyHeaders;
    if (!origins.includes(origin)) return refused;
    return {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': exposed,
      vary: 'Origin',
    };
  };
  return {
    answerHeaders,
    preflightHeaders(origin, requestedHeaders, allow) {
      const headers = answerHeaders(origin);
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
    },
  };
}
