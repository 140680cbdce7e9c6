import type { Hasher } from '#auth/hasher.ts';
import { quickHasher } from './quick-hasher.ts';

/** argon2id that counts what it is asked for, so that tests can compare the work behind two answers. */
export function countingHasher(): Hasher & { readonly work: { hashed: number; verified: number } } {
  const hasher = quickHasher();
  const work = { hashed: 0, verified: 0 };
  return {
    work,
    hashValues(values, signal) {
      work.hashed += values.length;
      return hasher.hashValues(values, signal);
    },
    verifyValue(stored, value, signal) {
      work.verified++;
      return hasher.verifyValue(stored, value, signal);
    },
  };
}
