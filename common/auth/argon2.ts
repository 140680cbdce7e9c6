import { createRequire } from 'node:module';
import type * as Argon2 from '@node-rs/argon2';

/**
 * argon2id. @node-rs/argon2 takes half the time, and its binaries are optional packages; `npm ci --omit=optional` leaves
 * them out. Then argon2 does the same work: each reads what the other wrote.
 * Node 20: later versions (24.7) have argon2 in node:crypto, which both packages can give way to.
 */
export const { hash, verify } = load();

function load(): Pick<typeof Argon2, 'hash' | 'verify'> {
  const require = createRequire(import.meta.url);
  try {
    return require('@node-rs/argon2') as typeof Argon2;
  } catch {
    return require('argon2') as typeof Argon2;
  }
}
