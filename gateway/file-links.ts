import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SigningKeys } from '../common/auth/signing-keys.ts';
import type { CloudFile } from '../common/metadata/cloud-files.ts';

/** Links to one file that expire. They are checked by a key alone: nothing is stored of them. */
export interface FileLinks {
  /** The query string that opens the file until then. */
  sign(file: FileAddress, expires: Date): Promise<string>;
  /** Whether the two parameters are ours, for this file, and not yet over. */
  isGood(file: FileAddress, expires: string, signature: string): Promise<boolean>;
}

/** A name is unique by itself; the project is part of the address. */
export type FileAddress = Pick<CloudFile, 'projectSlug' | 'name'>;

/** Of a purpose of its own: what signs login tokens signs nothing else. */
const purpose = 'sluice file link 1';
const secondsPattern = /^[1-9]\d{0,11}$/;
/** The id of the key, then HMAC-SHA256 in base64url. */
const signaturePattern = /^([0-9a-f-]{16,36})\.([A-Za-z0-9_-]{43})$/;

/** @param keys those of the store: every gateway accepts what another has signed */
export function createFileLinks(keys: SigningKeys, now: () => number = Date.now): FileLinks {
  return {
    async sign(file, expires) {
      const { id, secret } = await keys.current();
      const seconds = `${Math.ceil(expires.getTime() / 1000)}`;
      return `expires=${seconds}&signature=${id}.${mac(secret, file, seconds).toString('base64url')}`;
    },
    async isGood(file, expires, signature) {
      const [, id, text] = signaturePattern.exec(signature) ?? [];
      if (id === undefined || text === undefined || !secondsPattern.test(expires)) return false;
      // before the key is asked for: an old link costs nothing
      if (Number(expires) * 1000 <= now()) return false;
      const key = await keys.find(id);
      if (key === null) return false;
      const given = Buffer.from(text, 'base64url');
      const right = mac(key.secret, file, expires);
      return given.byteLength === right.byteLength && timingSafeEqual(given, right);
    },
  };
}

function mac(secret: Uint8Array, { projectSlug, name }: FileAddress, seconds: string): Buffer {
  const key = createHmac('sha256', secret).update(purpose).digest();
  // neither slug, name nor number holds a line break
  return createHmac('sha256', key).update(`${projectSlug}\n${name}\n${seconds}`).digest();
}
