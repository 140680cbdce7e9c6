import { malformedRequest } from '#kernel/errors/catalogue.ts';
import type { QueryPairs } from './http-types.ts';

const maxPairs = 1000;
const none: QueryPairs = [];

/**
 * Parses a query string as application/x-www-form-urlencoded (the URL standard's serialiser, and axios, write
 * spaces as `+`), but refuses the cases in which that parser would guess: broken percent-encoding is a 400.
 */
export function parseQueryString(raw: string): QueryPairs {
  if (raw === '') return none;
  // invalid UTF-8 arrives as U+FFFD; clients percent-encode a genuine U+FFFD
  if (raw.includes('\uFFFD')) throw malformedRequest('The query string is not valid UTF-8');
  // most have a single parameter
  if (!raw.includes('&')) return [readPair(raw)];
  const parts = raw.split('&');
  if (parts.length > maxPairs) {
    throw malformedRequest(`The query string has more than ${maxPairs} parameters`);
  }
  const pairs: [string, string][] = [];
  for (const part of parts) if (part !== '') pairs.push(readPair(part));
  return pairs;
}

function readPair(part: string): [string, string] {
  const equals = part.indexOf('=');
  return equals === -1 ? [decode(part), ''] : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))];
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw malformedRequest('The query string has broken percent-encoding', cause);
  }
}
