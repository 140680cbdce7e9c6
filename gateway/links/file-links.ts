import type { SigningKeys } from '#auth/signing-keys.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { TextSigner } from './text-signer.ts';

/** Expiring links to one file. Checking one needs only a key: links are not stored. */
export interface FileLinks {
  /** The query string that opens the file until it expires. */
  sign(file: FileAddress, expires: Date): Promise<string>;
  /** Whether the two parameters were signed for this file and have not expired. */
  isGood(file: FileAddress, expires: string, signature: string): Promise<boolean>;
}

/** The name alone is unique; the project is part of the address. */
export type FileAddress = Pick<CloudFile, 'projectSlug' | 'name'>;

const secondsPattern = /^[1-9]\d{0,11}$/;

/** @param keys of the store, so that every gateway accepts every link */
export function createFileLinks(keys: SigningKeys, now: () => number = Date.now): FileLinks {
  const signer = new TextSigner(keys, 'sluice file link 1');
  return {
    async sign({ projectSlug, name }, expires) {
      const seconds = `${Math.ceil(expires.getTime() / 1000)}`;
      return `expires=${seconds}&signature=${await signer.sign([projectSlug, name, seconds])}`;
    },
    async isGood({ projectSlug, name }, expires, signature) {
      // before a key is read, so that an expired link costs nothing
      if (!secondsPattern.test(expires) || Number(expires) * 1000 <= now()) return false;
      return signer.isGood(signature, [projectSlug, name, expires]);
    },
  };
}
