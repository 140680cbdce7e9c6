import { createHash } from 'node:crypto';

/** How long a repeated key gets the same answer. Milliseconds. */
export const keyLifetime = 24 * 3600 * 1000;

/** A digest of several texts: base64url of 256 bits. */
export function hashOfTexts(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64url');
}

/** The days since 1970 whose keys are still valid at this time: today and yesterday. */
export function daysOfKeys(now: number): readonly [today: number, yesterday: number] {
  const today = Math.floor(now / keyLifetime);
  return [today, today - 1];
}
