import type { IncomingHttpHeaders } from 'node:http';
import type { StoredObject } from './bucket-state.ts';
import { s3Error } from './s3-error.ts';

type Version = Pick<StoredObject, 'etag' | 'lastModified'>;

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html: If-Match takes precedence over If-Unmodified-Since. */
export function assertConditions(asked: IncomingHttpHeaders, { etag, lastModified }: Version): void {
  const match = asked['if-match'];
  const since = asked['if-unmodified-since'];
  const fails =
    match === undefined ? since !== undefined && isAfter(lastModified, since) : !lists(match, etag);
  if (fails)
    throw s3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');
}

export function isNotModified(asked: IncomingHttpHeaders, { etag, lastModified }: Version): boolean {
  const noneMatch = asked['if-none-match'];
  if (noneMatch !== undefined) return lists(noneMatch, etag);
  const since = asked['if-modified-since'];
  return since !== undefined && !isAfter(lastModified, since);
}

/** RFC 9110 section 14.2; null: the whole object. If-Range is ignored, as all servers ignore it. */
export function rangeOf(header: string | undefined, size: number): { start: number; end: number } | null {
  const [, first, last, suffix] = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/.exec(header ?? '') ?? [];
  if (first === undefined && suffix === undefined) return null;
  const start = first === undefined ? Math.max(0, size - Number(suffix)) : Number(first);
  const end = last === undefined || last === '' ? size : Math.min(Number(last) + 1, size);
  if (!(start < end)) throw s3Error('InvalidRange', 'The requested range is not satisfiable');
  return { start, end };
}

function lists(header: string, etag: string): boolean {
  return header.split(',').some((tag) => ['*', `"${etag}"`].includes(tag.trim()));
}

/** Dates of HTTP have no fractions of a second. */
function isAfter(time: Date, date: string): boolean {
  return Math.floor(time.getTime() / 1000) * 1000 > Date.parse(date);
}
