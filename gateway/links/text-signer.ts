import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SigningKeys } from '#auth/signing-keys.ts';

/** The id of the key, a dot, and the HMAC-SHA256 in base64url. */
const signaturePattern = /^([0-9a-f-]{16,36})\.([A-Za-z0-9_-]{43})$/;

/** Signs texts by HMAC, with a key that all gateways of a store share. The texts are not stored. */
export class TextSigner {
  readonly #keys: SigningKeys;
  readonly #purpose: string;

  /** @param purpose a signature for one purpose is invalid for another */
  constructor(keys: SigningKeys, purpose: string) {
    this.#keys = keys;
    this.#purpose = purpose;
  }

  /** @param parts without line breaks */
  async sign(parts: readonly string[]): Promise<string> {
    const { id, secret } = await this.#keys.current();
    return `${id}.${this.#mac(secret, parts).toString('base64url')}`;
  }

  async isGood(signature: string, parts: readonly string[]): Promise<boolean> {
    const [, id, text] = signaturePattern.exec(signature) ?? [];
    const key = id === undefined ? null : await this.#keys.find(id);
    if (key === null || text === undefined) return false;
    // compare texts: two texts in base64 may decode to the same bytes, but only one was signed
    const right = this.#mac(key.secret, parts).toString('base64url');
    return timingSafeEqual(Buffer.from(text), Buffer.from(right));
  }

  #mac(secret: Uint8Array, parts: readonly string[]): Buffer {
    const key = createHmac('sha256', secret).update(this.#purpose).digest();
    return createHmac('sha256', key).update(parts.join('\n')).digest();
  }
}
