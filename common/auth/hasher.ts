import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import type * as Argon2 from '@node-rs/argon2';
import { FairShare } from '#kernel/limits/fair-share.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';

/**
 * argon2id. @node-rs/argon2 takes half the time, but its binaries are optional packages, which `npm ci --omit=optional`
 * leaves out. The fallback is argon2; each reads the hashes of the other.
 * Once Node 24.7 is the minimum, argon2 of node:crypto can replace both.
 */
const { hash, verify } = loadArgon2();

function loadArgon2(): Pick<typeof Argon2, 'hash' | 'verify'> {
  const require = createRequire(import.meta.url);
  try {
    return require('@node-rs/argon2') as typeof Argon2;
  } catch {
    return require('argon2') as typeof Argon2;
  }
}

/** An account's password, or the value of a hashed field. */
export type Hashable = string | number | boolean;

/** Makes and checks stored hashes. Accounts share the threads fairly. */
export interface Hasher {
  /** Hashes in the order of the values, each with its own salt. */
  hashValues(values: readonly Hashable[], signal: AbortSignal, account?: string): Promise<readonly string[]>;
  verifyValue(stored: string, value: Hashable, signal: AbortSignal, account?: string): Promise<boolean>;
}

/** https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html: argon2id (the library's default). */
const owasp = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Concurrent hashes. They leave some of libuv's threads to the engine and the file system. */
const concurrency = Math.min(4, availableParallelism());
const queueLimit = 1000;

export function createHasher(): Hasher {
  const slots = new FairShare({
    capacity: concurrency,
    queueLimit,
    full: 'too many values are waiting to be hashed',
  });
  return {
    async hashValues(values, signal, account) {
      const hashes: string[] = [];
      // a request queues no more than can run at once, so that others don't wait for a long list
      await forEachAtOnce(values, concurrency, async (value, index) => {
        hashes[index] = await slots.run(() => hash(hashedText(value), owasp), signal, account);
      });
      return hashes;
    },
    verifyValue: (stored, value, signal, account) =>
      slots.run(() => verify(stored, hashedText(value)), signal, account),
  };
}

/** A field has one type, so values of different types never meet. */
function hashedText(value: Hashable): string {
  return String(value);
}
