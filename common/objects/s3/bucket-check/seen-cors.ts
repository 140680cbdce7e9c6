import { type BucketRequests, isSuccess, type SeenAnswer } from './bucket-requests.ts';
import type { ProbeKeys } from './probe-keys.ts';

/** What a page of an origin could do with the bucket. */
export interface SeenCors {
  readonly origin: string;
  /** What a browser would refuse, in words; empty: nothing. */
  readonly problems: readonly string[];
}

/** Headers that a signed PUT of an object or a part may have, beside metadata. */
const usualHeaders = [
  ...['content-disposition', 'content-md5', 'content-type', 'if-none-match', 'x-amz-checksum-crc32c'],
  'x-amz-meta-sluice-content-type',
];
const contentType = 'text/plain';
/** Seconds. */
const lifetime = 300;

/**
 * Does what a browser does for a page of the origin: asks before a PUT, sends it, and reads the headers that it may
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). What it would see counts, whatever rules the bucket has.
 */
export async function seeCors(
  requests: BucketRequests,
  keys: ProbeKeys,
  {
    origin,
    redirects,
    metadata,
  }: { readonly origin: string; readonly redirects: boolean; readonly metadata: readonly string[] },
  signal: AbortSignal,
): Promise<SeenCors> {
  const { presign, send } = requests;
  const key = keys.next();
  const headers = { 'content-type': contentType };
  const { url } = await presign({ method: 'PUT', key, query: {}, headers, lifetime }, signal);
  // a browser names them in this order
  const sentHeaders = [...usualHeaders, ...metadata.map((name) => `x-amz-meta-${name}`)].sort();
  const asked = {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': sentHeaders.join(','),
  };
  const preflight = await send({ method: 'OPTIONS', url, headers: asked }, signal);
  const problems = preflightProblems(preflight, origin, sentHeaders);
  const stored = await send({ method: 'PUT', url, headers: { ...headers, origin }, body: 'cors' }, signal);
  if (!isSuccess(stored)) problems.push(`the PUT is answered with ${stored.status}`);
  else if (!allows(stored, 'access-control-allow-origin', origin))
    problems.push('a page can’t read the answer to its PUT (no Access-Control-Allow-Origin)');
  else if (!allows(stored, 'access-control-expose-headers', 'etag'))
    problems.push('a page can’t read the ETag (not in Access-Control-Expose-Headers)');
  if (redirects) {
    const read = await presign({ method: 'GET', key, query: {}, headers: {}, lifetime }, signal);
    // of a fetch that the server redirected to the bucket
    const answer = await send({ method: 'GET', url: read.url, headers: { origin: 'null' } }, signal);
    if (!allows(answer, 'access-control-allow-origin', 'null'))
      problems.push('a page can’t read a download by redirect (nothing is allowed for Origin: null)');
  }
  return { origin, problems };
}

function preflightProblems(answer: SeenAnswer, origin: string, sentHeaders: readonly string[]): string[] {
  if (!isSuccess(answer)) return [`the preflight of a PUT is refused (${answer.status})`];
  if (!allows(answer, 'access-control-allow-origin', origin))
    return ['the preflight of a PUT is answered without Access-Control-Allow-Origin'];
  if (!allows(answer, 'access-control-allow-methods', 'PUT')) return ['the preflight does not allow PUT'];
  const refused = sentHeaders.filter((name) => !allows(answer, 'access-control-allow-headers', name));
  return refused.length === 0 ? [] : [`the preflight does not allow the headers ${refused.join(', ')}`];
}

/** Whether a list in a header has the value, or all. Requests are sent without the browser's credentials. */
function allows({ headers }: SeenAnswer, name: string, value: string): boolean {
  const listed = (headers[name] ?? '').toLowerCase().split(',');
  return listed.some((one) => one.trim() === '*' || one.trim() === value.toLowerCase());
}
