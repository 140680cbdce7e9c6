import { timingSafeEqual } from 'node:crypto';

/** Compares in a time that says nothing of where they differ. Their lengths are no secret. Texts are compared as UTF-8. */
export function equalSecrets(one: string | Uint8Array, other: string | Uint8Array): boolean {
  const [left, right] = [bytesOf(one), bytesOf(other)];
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}

function bytesOf(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? Buffer.from(secret) : secret;
}
