import type { SigningKeys } from '#auth/signing-keys.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { TextSigner } from './signed-text.ts';

/** Links to one file that expire. A key alone is enough to check them: nothing about them is stored. */
export interface FileLinks {
  /** The query string that opens the file until then. */
  sign(file: FileAddress, expires: Date): Promise<string>;
  /** Whether the two parameters were signed for this file, and have not expired. */
  isGood(file: FileAddress, expires: string, signature: string): Promise<boolean>;
}

/** A name is unique by itself; the project is part of the address. */
export type FileAddress = Pick<CloudFile, 'projectSlug' | 'name'>;

const secondsPattern = /^[1-9]\d{0,11}$/;

/** @param keys of the store, so that every gateway accepts links that another has signed */
export function createFileLinks(keys: SigningKeys, now: () => number = Date.now): FileLinks {
  const signer = new TextSigner(keys, 'sluice file link 1');
  return {
    async sign({ projectSlug, name }, expires) {
      const seconds = `${Math.ceil(expires.getTime() / 1000)}`;
      return `expires=${seconds}&signature=${await signer.sign([projectSlug, name, seconds])}`;
    },
    async isGood({ projectSlug, name }, expires, signature) {
      // before any key is read: an expired link costs nothing
      if (!secondsPattern.test(expires) || Number(expires) * 1000 <= now()) return false;
      return signer.isGood(signature, [projectSlug, name, expires]);
    },
  };
}
