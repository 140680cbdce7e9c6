import { preconditionFailed } from '#kernel/errors/catalogue.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';

/** Identifies the state of a file: a strong entity tag with its quotes, and the time of the last change. */
export interface Validators {
  readonly etag: string;
  readonly lastModified: Date;
}

// RFC 9110 section 8.8.3; obs-text arrives as the characters that the server decoded it to
const entityTag = /(?:W\/)?"[\x21\x23-\x7e\u0080-\uffff]*"/y;
const separator = /[ \t]*(?:,[ \t]*|$)/y;

/** A file never changes, so its id is its version. */
export function validatorsOf({ id, createdAt }: Pick<CloudFile, 'id' | 'createdAt'>): Validators {
  return { etag: `"${id}"`, lastModified: createdAt };
}

type Header = (name: string) => string | undefined;

/**
 * Checks the preconditions of a request in the order of RFC 9110 section 13.2.2. Throws 412 when the file does not meet
 * them.
 * @param state null: no file @param reads GET or HEAD, which answer 304 instead while the client's copy is good
 */
export function assertPreconditions(header: Header, state: Validators | null, reads = false): void {
  const match = header('if-match');
  const unmodifiedSince = parseHttpDate(header('if-unmodified-since'));
  if (match !== undefined) {
    if (state === null || !listsTag(match, state.etag, isStrong)) throw preconditionFailed('If-Match');
  } else if (unmodifiedSince !== null && state !== null) {
    if (wholeSeconds(state.lastModified) > unmodifiedSince) throw preconditionFailed('If-Unmodified-Since');
  }
  const noneMatch = header('if-none-match');
  if (reads || noneMatch === undefined || state === null) return;
  if (listsTag(noneMatch, state.etag)) throw preconditionFailed('If-None-Match');
}

/** Whether a request has preconditions at all, which is rare. */
export function hasPreconditions(header: Header): boolean {
  return ['if-match', 'if-unmodified-since', 'if-none-match'].some((name) => header(name) !== undefined);
}

/**
 * Whether the client's copy is still good, so that the answer is 304 (RFC 9110 section 13.2.2). If-None-Match takes
 * precedence over If-Modified-Since.
 */
export function isNotModified(header: Header, state: Validators): boolean {
  const noneMatch = header('if-none-match');
  if (noneMatch !== undefined) return listsTag(noneMatch, state.etag);
  const modifiedSince = parseHttpDate(header('if-modified-since'));
  return modifiedSince !== null && wholeSeconds(state.lastModified) <= modifiedSince;
}

/** RFC 9110 section 8.8.3.2: a weak tag never equals another one strongly. */
function isStrong(tag: string, etag: string): boolean {
  return tag === etag;
}

function isWeak(tag: string, etag: string): boolean {
  return tag.replace(/^W\//, '') === etag;
}

/** RFC 9110 sections 13.1.1 and 13.1.2: `*`, or any tag of the list. A malformed list matches nothing. */
function listsTag(list: string, etag: string, isEqual = isWeak): boolean {
  const text = list.trim();
  if (text === '*') return true;
  let found = false;
  let position = 0;
  while (position < text.length) {
    const tag = matchAt(entityTag, text, position);
    if (tag !== null && isEqual(tag, etag)) found = true;
    position += tag?.length ?? 0;
    const gap = matchAt(separator, text, position);
    // RFC 9110 section 5.6.1.2: empty list elements are allowed
    if (gap === null || (gap === '' && position < text.length)) return false;
    position += gap.length;
  }
  return found;
}

function matchAt(pattern: RegExp, text: string, position: number): string | null {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? null;
}

/**
 * Whether a Range still applies to the version that the client has a piece of (RFC 9110 section 13.1.5): by a strong
 * comparison of tags, or a date equal to Last-Modified. True without If-Range.
 */
export function rangeApplies(ifRange: string | undefined, state: Validators): boolean {
  if (ifRange === undefined) return true;
  const value = ifRange.trim();
  if (value.startsWith('"') || value.startsWith('W/')) return value === state.etag;
  return parseHttpDate(value) === wholeSeconds(state.lastModified);
}

/** HTTP dates have no fractions of a second. */
function wholeSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

const dayName = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** Seconds since 1970 of an HTTP-date (RFC 9110 section 5.6.7), or null when it is malformed. */
function parseHttpDate(text: string | undefined): number | null {
  if (text === undefined || !dayName.test(text)) return null;
  // the obsolete asctime form names no zone, and means UTC
  const milliseconds = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(milliseconds) ? null : Math.floor(milliseconds / 1000);
}
