import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyedHash } from './signing-keys.ts';

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

/** Texts that only our processes can read or make: addresses, cookies, stored secrets. */
export class SealedTexts {
  readonly #keyOf: KeyedHash;

  /** @param keyOf derives keys from the store, so that every process has them */
  constructor(keyOf: KeyedHash) {
    this.#keyOf = keyOf;
  }

  /** @param purpose a text that was sealed for one opens for no other */
  async seal(text: string, purpose = ''): Promise<string> {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, await this.#keyOf(purpose), iv);
    const sealed = [iv, cipher.update(text), cipher.final()];
    return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Null: it was not sealed here, or for another purpose. */
  async open(sealed: string, purpose = ''): Promise<string | null> {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.byteLength <= ivBytes + tagBytes) return null;
    const decipher = createDecipheriv(algorithm, await this.#keyOf(purpose), bytes.subarray(0, ivBytes));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const text = [decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()];
      return Buffer.concat(text).toString();
    } catch {
      return null;
    }
  }
}
