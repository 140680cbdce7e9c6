/** A random idempotency key. Pages without HTTPS have no `crypto.randomUUID`. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
