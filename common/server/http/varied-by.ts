/**
 * Adds a name to the value of Vary (RFC 9110 section 12.5.5). It is a single line: nginx before 1.23 reads only one, and
 * would answer every request from its cache.
 */
export function variedBy(given: string | undefined, name: string): string {
  return given === undefined ? name : `${given}, ${name}`;
}
