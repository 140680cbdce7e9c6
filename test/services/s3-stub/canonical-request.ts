import { percentDecode, Query } from './query.ts';

export interface SignableRequest {
  readonly method: string;
  /** Path and query as they stand in the request line. */
  readonly url: string;
  /** All values of a header, in order; undefined when the request has none. */
  headerValues(name: string): readonly string[] | undefined;
}

/**
 * Task 1 of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
 * S3 encodes the path once and does not normalise it, unlike other services.
 */
export function canonicalRequest(
  request: SignableRequest,
  signedHeaders: readonly string[],
  payloadHash: string,
): string {
  const { path, query } = splitUrl(request.url);
  const headers = signedHeaders.map((name) => {
    const values = request.headerValues(name) ?? [];
    return `${name}:${values.map((value) => value.trim().replace(/ +/g, ' ')).join(',')}\n`;
  });
  return [
    request.method,
    uriEncode(percentDecode(path), false),
    canonicalQuery(query),
    headers.join(''),
    signedHeaders.join(';'),
    payloadHash,
  ].join('\n');
}

export function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

function canonicalQuery(raw: string): string {
  return new Query(raw).pairs
    .map(([name, value]) => [uriEncode(name, true), uriEncode(value, true)] as const)
    .sort((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Section "UriEncode()": everything but A-Z a-z 0-9 - . _ ~ as %XY of its UTF-8 bytes, upper case. */
export function uriEncode(text: string, encodeSlash: boolean): string {
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return encodeSlash ? encoded : encoded.replaceAll('%2F', '/');
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
