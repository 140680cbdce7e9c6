/** A key of a request; `crypto.randomUUID` is not there for pages without HTTPS. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
