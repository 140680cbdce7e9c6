import { hash, verify } from '@node-rs/argon2';
import type { Hasher } from '#auth/hasher.ts';

/** argon2id at its least cost: tests of what is stored and found ask nothing about the usual one. */
export function quickHasher(): Hasher {
  return {
    hashValues: (values) =>
      Promise.all(values.map((value) => hash(String(value), { memoryCost: 8, timeCost: 1, parallelism: 1 }))),
    verifyValue: (stored, value) => verify(stored, String(value)),
  };
}
