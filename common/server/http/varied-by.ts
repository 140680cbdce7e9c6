/**
 * The value of Vary (RFC 9110 section 12.5.5) with another name. It is one line: nginx before 1.23 looks at one alone, and
 * would take what is in its cache for every request.
 */
export function variedBy(given: string | undefined, name: string): string {
  return given === undefined ? name : `${given}, ${name}`;
}
