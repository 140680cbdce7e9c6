import type { Headers, HttpRequest } from './http-types.ts';

const exposed = [
  'etag, content-range, accept-ranges, repr-digest, x-request-id, retry-after, idempotent-replayed',
  'preference-applied, accept-query, sluice-total-count, link, sluice-next-after, sluice-more-groups, server-timing',
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
   * The value of Access-Control-Allow-Origin and the CORS headers after it, except Vary; null: none. As bytes, they take a
   * single native call without text conversion (docs/decisions/037-cost-of-a-hit.md).
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
 * Cross-origin answers for browsers: https://fetch.spec.whatwg.org/#http-cors-protocol. A cache may serve a stored answer
 * to a page, so requests without Origin get the headers too.
 */
export class CorsPolicy {
  readonly #origins: ReadonlyMap<string, CorsAnswer>;
  /** The headers for all origins; null: only some origins are allowed. */
  readonly #open: CorsAnswer | null;

  /** @param origins allowed origins; `*` allows all (browsers never add credentials by themselves: a page's code sends the token) */
  constructor(origins: readonly string[]) {
    this.#origins = new Map(origins.map((origin) => [origin, allowing(origin)]));
    this.#open = this.#origins.get('*') ?? null;
  }

  /** The headers of any answer to a request. */
  answerTo(request: RequestHeaders): CorsAnswer {
    if (this.#open !== null) return this.#open;
    const origin = request.header('origin');
    return (origin === undefined ? undefined : this.#origins.get(origin)) ?? refused;
  }

  /**
   * Further headers of the answer to an OPTIONS; none if it isn't a preflight, or if the origin is not allowed. Unsupported
   * methods are allowed: a page can't see why a preflight was refused, but a 404 or 405 explains it.
   */
  preflightHeaders(request: RequestHeaders, allow: readonly string[]): Headers {
    const method = request.header('access-control-request-method');
    if (method === undefined || request.header('origin') === undefined) return {};
    if (this.answerTo(request).allowed === null) return {};
    const requestedHeaders = request.header('access-control-request-headers');
    const methods = allow.includes(method) || !token.test(method) ? allow : [...allow, method];
    return {
      'access-control-allow-methods': methods.join(', '),
      // `*` doesn't cover Authorization, so the requested list is granted as it is
      ...(requestedHeaders !== undefined && headerList.test(requestedHeaders)
        ? { 'access-control-allow-headers': requestedHeaders }
        : {}),
      // a path or method may be added later, so this one is not cached
      'access-control-max-age': methods === allow ? '86400' : '0',
      vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
    };
  }
}
