import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createKeyedHash, type KeyedHash, type SigningKeys } from './signing-keys.ts';

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

/** What is sealed for a time. */
export interface EndingValue {
  /** Milliseconds since 1970. */
  readonly until: number;
}

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

  sealValue(value: EndingValue, purpose: string): Promise<string> {
    return this.seal(JSON.stringify(value), purpose);
  }

  /** Null: as `open`, or the value has ended. @param now milliseconds since 1970 */
  async openValue<Value extends EndingValue>(
    sealed: string,
    purpose: string,
    now: number,
  ): Promise<Value | null> {
    const text = await this.open(sealed, purpose);
    const value = text === null ? null : (JSON.parse(text) as Value);
    return value === null || value.until < now ? null : value;
  }
}

/** Seals with a key for each purpose, from keys that all processes of a store share. */
export function createSealedTexts(keys: Pick<SigningKeys, 'current'>): SealedTexts {
  return new SealedTexts((purpose) => createKeyedHash(keys, purpose)(''));
}
