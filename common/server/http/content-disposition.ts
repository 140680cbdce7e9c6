import formatDisposition from 'content-disposition';

/**
 * A Content-Disposition value with the file's name: RFC 6266, with an ASCII `filename` for old clients and a
 * `filename*` (RFC 8187) as well if ASCII can't represent the name. Never contains a character that ends a header.
 */
export function contentDisposition(type: 'inline' | 'attachment', originalName: string): string {
  // RFC 6266 section 4.3: no path
  const name = baseName(originalName).replace(/\p{Cs}/gu, '\uFFFD') || 'file';
  // a percent sign in `filename` is decoded by some clients and not by others (RFC 6266 appendix D)
  const fallback = name.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  return formatDisposition(name, { type, fallback });
}

/** The part after the last `/` or `\\`, ignoring trailing ones. */
export function baseName(given: string): string {
  const path = given.replace(/[/\\]+$/, '');
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}
