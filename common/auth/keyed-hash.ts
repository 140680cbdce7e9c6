import { createHmac } from 'node:crypto';
import type { SigningKeys } from './signing-keys.ts';

/** HMAC-SHA256 of a text. */
export type KeyedHash = (text: string) => Promise<Buffer>;

/** Hashes with a key of the store that is for one purpose alone: what signs login tokens signs nothing else. */
export function createKeyedHash(keys: Pick<SigningKeys, 'current'>, purpose: string): KeyedHash {
  return async (text) => {
    const { secret } = await keys.current();
    const key = createHmac('sha256', secret).update(purpose).digest();
    return createHmac('sha256', key).update(text).digest();
  };
}
