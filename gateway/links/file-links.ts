import type { SigningKeys } from '#auth/signing-keys.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { TextSigner } from './text-signer.ts';

/** Expiring links to one file. Checking one needs only a key: links are not stored. */
export interface FileLinks {
  /** The query string that opens the file until it expires. */
  sign(file: FileAddress, expires: Date): Promise<string>;
  /** The segment of an address that opens all files of a folder until it expires. */
  signFolder(folder: FolderAddress, expires: Date): Promise<string>;
  /** Whether the two halves of a segment were signed for this folder and have not expired. */
  isGoodFolder(folder: FolderAddress, expires: string, signature: string): Promise<boolean>;
  /** Whether the two parameters were signed for this file and have not expired. */
  isGood(file: FileAddress, expires: string, signature: string): Promise<boolean>;
}

/** The name alone is unique; the project is part of the address. */
export type FileAddress = Pick<CloudFile, 'projectSlug' | 'name'>;

export interface FolderAddress {
  readonly projectSlug: string;
  readonly folder: string;
}

const secondsPattern = /^[1-9]\d{0,11}$/;

/** @param keys of the store, so that every gateway accepts every link */
export function createFileLinks(keys: SigningKeys, now: () => number = Date.now): FileLinks {
  const signer = new TextSigner(keys, 'sluice file link 1');
  const folders = new TextSigner(keys, 'sluice folder link 1');
  // before a key is read, so that an expired link costs nothing
  const isOver = (expires: string): boolean =>
    !secondsPattern.test(expires) || Number(expires) * 1000 <= now();
  return {
    async sign({ projectSlug, name }, expires) {
      const seconds = `${Math.ceil(expires.getTime() / 1000)}`;
      return `expires=${seconds}&signature=${await signer.sign([projectSlug, name, seconds])}`;
    },
    async isGood({ projectSlug, name }, expires, signature) {
      return !isOver(expires) && signer.isGood(signature, [projectSlug, name, expires]);
    },
    async signFolder({ projectSlug, folder }, expires) {
      const seconds = `${Math.ceil(expires.getTime() / 1000)}`;
      return `~${seconds}-${await folders.sign([projectSlug, folder, seconds])}`;
    },
    async isGoodFolder({ projectSlug, folder }, expires, signature) {
      return !isOver(expires) && folders.isGood(signature, [projectSlug, folder, expires]);
    },
  };
}
