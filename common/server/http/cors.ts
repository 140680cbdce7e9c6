import type { Headers, HttpRequest } from './http-types.ts';

const exposed = [
  'etag, content-range, accept-ranges, repr-digest, x-request-id, retry-after, idempotent-replayed',
  'accept-query, sluice-total-count, link, sluice-next-after, sluice-more-groups, server-timing',
  // tus clients read these: https://tus.io/protocols/resumable-upload
  'location, upload-offset, upload-length, upload-defer-length, upload-metadata, upload-expires, upload-concat',
  'upload-complete, upload-limit, tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm',
].join(', ');
const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const headerList = /^[A-Za-z0-9!#$%&'*+.^_`|~ ,-]{1,4096}$/;

type RequestHeaders = Pick<HttpRequest, 'header'>;

/** The CORS headers of an answer. */
export interface CorsAnswer {
  readonly headers: Headers;
  /**
   * The value of Access-Control-Allow-Origin with the headers that follow, but for Vary; null: there is none. As bytes it is one
   * native call that converts no text (docs/decisions/037-cost-of-a-hit.md).
   */
  readonly allowed: Uint8Array | null;
}

const refused: CorsAnswer = { headers: { vary: 'Origin' }, allowed: null };

function allowing(origin: string): CorsAnswer {
  const allow = { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed };
  return {
    headers: origin === '*' ? allow : { ...allow, vary: 'Origin' },
    allowed: Buffer.from(`${origin}\r\naccess-control-expose-headers: ${exposed}`),
  };
}

/**
 * Cross-origin answers for browsers: https://fetch.spec.whatwg.org/#http-cors-protocol. A cache may answer a page with what
 * another request brought, so the headers also go to who sends no Origin.
 */
export class CorsPolicy {
  readonly #origins: ReadonlyMap<string, CorsAnswer>;
  /** Of every origin; null: some are allowed. */
  readonly #open: CorsAnswer | null;

  /** @param origins allowed origins; `*` allows all (no credentials are ever involved: tokens are sent by hand) */
  constructor(origins: readonly string[]) {
    this.#origins = new Map(origins.map((origin) => [origin, allowing(origin)]));
    this.#open = this.#origins.get('*') ?? null;
  }

  /** Of any answer to a request. */
  answerTo(request: RequestHeaders): CorsAnswer {
    if (this.#open !== null) return this.#open;
    const origin = request.header('origin');
    return (origin === undefined ? undefined : this.#origins.get(origin)) ?? refused;
  }

  /**
   * What the answer to an OPTIONS has besides; nothing if it is no preflight, or of an origin that is not allowed. A method
   * that is not there may be sent: a page learns nothing of a refused preflight, and a 404 or 405 tells it why.
   */
  preflightHeaders(request: RequestHeaders, allow: readonly string[]): Headers {
    const method = request.header('access-control-request-method');
    if (method === undefined || request.header('origin') === undefined) return {};
    if (this.answerTo(request).allowed === null) return {};
    const requestedHeaders = request.header('access-control-request-headers');
    const methods = allow.includes(method) || !token.test(method) ? allow : [...allow, method];
    return {
      'access-control-allow-methods': methods.join(', '),
      // `*` doesn't cover Authorization, so the list that was asked for is granted as it is
      ...(requestedHeaders !== undefined && headerList.test(requestedHeaders)
        ? { 'access-control-allow-headers': requestedHeaders }
        : {}),
      // what is not there may come
      'access-control-max-age': methods === allow ? '86400' : '0',
      vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
    };
  }
}
