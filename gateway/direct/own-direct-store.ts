import { crc32 } from 'node:zlib';
import { directPartLimits } from '#kernel/config/s3-part-sizes.ts';
import { notFound, uploadConflict } from '#kernel/errors/catalogue.ts';
import type {
  DirectAbilities,
  DirectUpload,
  DirectUploadStore,
  PartToSend,
  SignedPut,
  UploadedPart,
} from '#objects/direct-store.ts';
import { readFileKey } from '#objects/file-key.ts';
import { keysAtOnce, type ObjectInfo, type ObjectStore, type Part } from '#objects/object-store.ts';
import type { TextSigner } from '../links/text-signer.ts';
import { type PlanAddress, partKey, planKey, readPlanKey } from '../plans/direct-plan.ts';

/** A part that an address of this gateway takes. */
export interface AddressedPart extends PartToSend {
  readonly upload: PlanAddress;
}

interface OwnDirectStoreDeps {
  readonly store: Pick<ObjectStore, 'create' | 'read' | 'head' | 'list' | 'deleteAll'>;
  readonly signer: TextSigner;
  /** Base address of a project's files. */
  readonly filesUrl: (projectSlug: string) => string;
}

const abilities: DirectAbilities = {
  // parts are objects of their own until the upload is complete
  refusesOverwrite: false,
  etagIsMd5: false,
  checksMd5: true,
  checksChecksums: false,
};

/**
 * Direct uploads to a store that clients can't reach: addresses lead to the gateway, and each part is an object of its
 * own until the file is made of them.
 */
export class OwnDirectStore implements DirectUploadStore {
  readonly smallestPart = directPartLimits.smallestPart;
  readonly largestPart = directPartLimits.largestPart;
  readonly mostParts = directPartLimits.mostParts;
  readonly #deps: OwnDirectStoreDeps;

  constructor(deps: OwnDirectStoreDeps) {
    this.#deps = deps;
  }

  async abilities(): Promise<DirectAbilities> {
    return abilities;
  }

  async begin(key: string): Promise<string> {
    return key;
  }

  async putAddress({ key }: DirectUpload, part: PartToSend, lifetime: number): Promise<SignedPut> {
    const { signer, filesUrl } = this.#deps;
    const upload = addressOf(key);
    const expires = `${Math.floor(Date.now() / 1000) + lifetime}`;
    const signature = await signer.sign(signedTexts({ ...part, upload }, expires));
    const query = new URLSearchParams({ owner: upload.ownerId, size: `${part.size}`, expires, signature });
    return {
      url: `${filesUrl(upload.projectSlug)}/direct/${upload.name}/${part.number}?${query}`,
      headers: part.md5 === undefined ? {} : { 'content-md5': part.md5 },
    };
  }

  /** Whether `putAddress` signed this request, and it has not expired. */
  async isGood(part: AddressedPart, { expires, signature }: { expires: string; signature: string }) {
    if (!/^\d{1,12}$/.test(expires) || Number(expires) * 1000 <= Date.now()) return false;
    return this.#deps.signer.isGood(signature, signedTexts(part, expires));
  }

  /** The ETag of a part that has arrived. Throws 404 when it was removed meanwhile. */
  async etagOf(
    { upload, number }: Pick<AddressedPart, 'upload' | 'number'>,
    signal: AbortSignal,
  ): Promise<string> {
    const object = await this.#deps.store.head(partKey(upload, number), signal);
    if (object === null) throw notFound('The upload has ended');
    return etagOf(object);
  }

  async listParts({ key }: DirectUpload, signal: AbortSignal): Promise<readonly UploadedPart[]> {
    const parts: UploadedPart[] = [];
    for await (const object of this.#deps.store.list(`${planKey(addressOf(key))}!`, signal)) {
      const found = readPlanKey(object.key);
      if (found?.is === 'part') parts.push({ number: found.number, size: object.size, etag: etagOf(object) });
    }
    return parts.sort((a, b) => a.number - b.number);
  }

  async complete(
    { key, description }: DirectUpload,
    parts: readonly UploadedPart[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { store } = this.#deps;
    const upload = addressOf(key);
    // an earlier attempt may have done it, and lost its answer
    const made = await store.head(key, signal);
    if (made !== null) {
      for (const { number } of parts) await this.#assertBefore(made, upload, number, signal);
      return false;
    }
    const writer = await store.create(key, description, signal);
    try {
      for (const { number, etag } of parts) {
        for await (const chunk of store.read(partKey(upload, number), null, signal))
          await writer.writePart(partOf([chunk]));
        // what was read may be what was sent after the list was made
        if ((await this.etagOf({ upload, number }, signal)) !== etag) throw sentAgain(number);
      }
      await writer.complete(partOf([]));
    } catch (error) {
      await writer.abort();
      throw error;
    }
    return true;
  }

  async abort(upload: DirectUpload, signal: AbortSignal): Promise<void> {
    const address = addressOf(upload.key);
    const keys = (await this.listParts(upload, signal)).map(({ number }) => partKey(address, number));
    while (keys.length > 0) await this.#deps.store.deleteAll(keys.splice(-keysAtOnce), signal);
  }

  async inspect(key: string, signal: AbortSignal): Promise<{ size: number; etag: string } | null> {
    const object = await this.#deps.store.head(key, signal);
    return object && { size: object.size, etag: etagOf(object) };
  }

  /** Throws 409 for a part that is newer than the object that was made of them. */
  async #assertBefore(
    made: ObjectInfo,
    upload: PlanAddress,
    number: number,
    signal: AbortSignal,
  ): Promise<void> {
    const part = await this.#deps.store.head(partKey(upload, number), signal);
    if (part !== null && part.lastModified > made.lastModified) throw sentAgain(number);
  }
}

const sentAgain = (number: number) =>
  uploadConflict(`Part ${number} was sent again while the upload was completed`);

/** The texts of a signature. */
function signedTexts({ upload, number, size, md5 = '' }: AddressedPart, expires: string): string[] {
  const { ownerId, projectSlug, name } = upload;
  return [ownerId, projectSlug, name, `${number}`, `${size}`, md5, expires];
}

/** Of an object that is written as a whole, and never twice within a millisecond with the same size. */
function etagOf({ size, lastModified }: Pick<ObjectInfo, 'size' | 'lastModified'>): string {
  return `${size.toString(16)}-${lastModified.getTime().toString(16)}`;
}

/** A part of any size: stores that clients can't reach take short ones. */
function partOf(chunks: readonly Uint8Array[]): Part {
  const [chunk] = chunks;
  return chunk === undefined
    ? { chunks, size: 0, crc32: 0 }
    : { chunks, size: chunk.byteLength, crc32: crc32(chunk) };
}

function addressOf(key: string): PlanAddress {
  const address = readFileKey(key);
  if (address === null) throw new Error(`${JSON.stringify(key)} is not the key of a file`);
  return address;
}
