import { randomUUID } from 'node:crypto';
import { LockRefused, type Locks } from '#coordination/redis/process-lock.ts';
import { idempotencyKeyInUse, idempotencyKeyReused, unavailable } from '#kernel/errors/catalogue.ts';
import { daysOfKeys, hashOfTexts, keyLifetime } from '#kernel/ids/key-lifetime.ts';
import { addressOwner } from '#server/http/address-owner.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { readIdempotencyKey } from '#server/http/idempotency-key.ts';
import { type CloudFile, isThere } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { type CopyProperties, CopyUpload } from './copy-upload.ts';
import type { UploadGrant } from './upload-access.ts';

/** The lock of a key is a lease, which expires if its gateway dies. Milliseconds. */
const lockTimes = { lease: 10_000, renewEvery: 3_000 };
/** Characters of a UUID up to its random half. */
const prefixLength = 18;

/** An upload whose file an earlier request may have stored. */
export interface RepeatedUpload {
  /** The id of the file if this request stores it. */
  readonly id: string;
  /** The file that an earlier request stored; null: none. */
  earlier(signal: AbortSignal): Promise<CloudFile | null>;
  /** The error for a file that differs from the earlier one. */
  isAnother(): Error;
}

interface UploadKeysDeps {
  readonly cloudFiles: Pick<CloudFiles, 'findByPrefixes'>;
  /** Keep requests with the same key apart. */
  readonly locks: Locks;
  readonly now?: () => number;
}

/**
 * Uploads with an `Idempotency-Key`. The id of their file begins with a hash of account, key and day, so the row of the
 * file is the only record of a key: it exists as soon as the file does, and the primary key finds it.
 */
export class UploadKeys {
  readonly #deps: UploadKeysDeps;

  constructor(deps: UploadKeysDeps) {
    this.#deps = deps;
  }

  /**
   * Does the work of a request, one at a time for each key, or for each name of a copy. Throws 409 while another
   * request with it is under way.
   */
  async use<Result>(
    request: HttpRequest,
    { userId: ownerId, link, bound }: Pick<UploadGrant, 'userId' | 'link' | 'bound'>,
    work: (upload: RepeatedUpload | null) => Promise<Result>,
    copy: CopyProperties | null = null,
  ): Promise<Result> {
    const key = readIdempotencyKey(request);
    if (copy === null && key === undefined) return work(null);
    // each link has its own keys, and so has each user, and each address of strangers
    const sender = bound && (bound.user === null ? addressOwner(request.address) : `user ${bound.user}`);
    const whose = sender === undefined ? [ownerId, link?.id ?? ''] : [ownerId, link?.id ?? '', sender];
    const hash = copy === null ? hashOfTexts(...whose, key ?? '') : hashOfTexts(copy.name);
    const lock = this.#deps.locks(`upload:${hash}`, lockTimes);
    const { cloudFiles } = this.#deps;
    try {
      return await lock.hold((lost) =>
        work(
          copy === null
            ? new KeyedUpload(this.#deps, { ownerId, hash, lost })
            : new CopyUpload(cloudFiles, { ...copy, ownerId }),
        ),
      );
    } catch (error) {
      if (!(error instanceof LockRefused)) throw error;
      if (error.reason === 'held') throw idempotencyKeyInUse();
      throw unavailable('Uploads with an Idempotency-Key cannot be stored at the moment', error);
    }
  }
}

/** An upload with an `Idempotency-Key`. */
export class KeyedUpload implements RepeatedUpload {
  /** UUIDv8 (RFC 9562 section 5.8). Its second half is random: the address of a file can't be guessed or repeated. */
  readonly id: string;
  readonly #prefixes: readonly string[];
  readonly #deps: UploadKeysDeps;
  readonly #key: { readonly ownerId: string; readonly lost: AbortSignal };

  constructor(deps: UploadKeysDeps, key: { ownerId: string; hash: string; lost: AbortSignal }) {
    const { now = Date.now } = deps;
    this.#deps = deps;
    this.#key = key;
    this.#prefixes = daysOfKeys(now()).map((day) => prefixOf(key.hash, String(day)));
    this.id = this.#prefixes[0] + randomUUID().slice(prefixLength);
  }

  /** The file that the first upload with the key stored within the last day; null: none. */
  async earlier(signal: AbortSignal): Promise<CloudFile | null> {
    const { cloudFiles, now = Date.now } = this.#deps;
    const { ownerId, lost } = this.#key;
    const files = await cloudFiles.findByPrefixes(this.#prefixes, signal);
    if (lost.aborted) throw idempotencyKeyInUse();
    const since = now() - keyLifetime;
    const isGood = (file: CloudFile): boolean => file.ownerId === ownerId && file.createdAt.getTime() > since;
    // what was deleted, or has expired, can be uploaded again
    return files.find((file) => isGood(file) && isThere(file, now())) ?? null;
  }

  isAnother(): Error {
    return idempotencyKeyReused();
  }
}

/** Whether it is the same file. Of the bytes, only the number and the CRC-32 can be compared. */
export function isSame(earlier: CloudFile, file: Omit<CloudFile, 'createdAt' | 'updatedAt'>): boolean {
  const { projectSlug, originalName, contentType, size, crc32 } = earlier;
  return (
    projectSlug === file.projectSlug &&
    originalName === file.originalName &&
    contentType === file.contentType &&
    size === file.size &&
    // 0: the janitor made the row from the object, which has no CRC-32
    (crc32 === file.crc32 || crc32 === 0)
  );
}

/** The prefix shared by the names of files with the same key; null: the file has no key. */
export function keyPrefixOf({ id }: Pick<CloudFile, 'id'>): string | null {
  return id[14] === '8' ? id.slice(0, prefixLength) : null;
}

function prefixOf(...texts: readonly string[]): string {
  const hex = Buffer.from(hashOfTexts(...texts), 'base64url').toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}`;
}
