import { rangeNotSatisfiable } from '#kernel/errors/catalogue.ts';
import type { ByteRange } from '#objects/object-store.ts';

// RFC 9110 section 14.1.1: range units are case-insensitive; empty list elements are allowed (section 5.6.1.2)
const singleRange = /^bytes=[ \t,]*(?:(\d+)-(\d*)|-(\d+))[ \t,]*$/i;

/**
 * The range of a Range header; null, to serve the whole file: no header, another unit, several ranges or a malformed
 * header (RFC 9110 section 14.2 lets a server ignore it). Throws 416 when the range lies outside the file.
 * @param size bytes
 */
export function parseRange(header: string | undefined, size: number): ByteRange | null {
  const match = singleRange.exec(header?.trim() ?? '');
  if (match === null) return null;
  const [, first, last, suffix] = match;
  if (first === undefined) return suffixRange(Number(suffix), size);
  const start = Number(first);
  const end = last === '' || last === undefined ? Number.POSITIVE_INFINITY : Number(last);
  // section 14.1.1: an int-range whose end is before its start is invalid, not unsatisfiable
  if (end < start) return null;
  if (start >= size) throw rangeNotSatisfiable(size);
  return { start, end: Math.min(end, size - 1) };
}

/** Section 14.1.2: the last bytes of the file, or all of it when it is shorter. */
function suffixRange(length: number, size: number): ByteRange | null {
  if (length === 0) throw rangeNotSatisfiable(size);
  // satisfiable, but Content-Range can't say "no bytes"
  if (size === 0) return null;
  return { start: Math.max(0, size - length), end: size - 1 };
}
