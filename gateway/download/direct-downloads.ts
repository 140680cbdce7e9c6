import { LRUCache } from 'lru-cache';
import { upTo } from '#kernel/limits/up-to.ts';
import type { DirectStore } from '#objects/direct-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import { storedHeaders } from '../files/content-type-policy.ts';
import type { Validators } from './conditional.ts';
import { fileNotFound } from './object-bytes.ts';

/** How long an address works when a client gets it. Seconds. */
const lifetime = 300;
/** Players keep an address for the whole film. Seconds. */
const mediaLifetime = 6 * 3600;
/** How long an address is given to further clients. Seconds. */
const reusedFor = 60;
/** How long validators are cached: an operator who moves the bucket may change them. Milliseconds. */
const validatorsFor = 600_000;
/** Of some 1 KB each. */
const cachedAddresses = 10_000;
const cachedValidators = 10_000;

interface CachedAddress {
  readonly url: string;
  /** Milliseconds since 1970. */
  readonly reusedUntil: number;
}

/** Addresses of files in the bucket, and what the bucket says about them. Readers are authorised elsewhere. */
export class DirectDownloads {
  readonly #store: Pick<ObjectStore, 'head'>;
  readonly #direct: Pick<DirectStore, 'readAddress'>;
  readonly #above: number;
  readonly #now: () => number;
  readonly #addresses = new LRUCache<string, CachedAddress>({ ...upTo(cachedAddresses) });
  readonly #validators = new LRUCache<string, Validators>({
    ...upTo(cachedValidators),
    ttl: validatorsFor,
    ttlResolution: 1000,
  });

  /** @param args.above size of the largest files that we serve ourselves. Bytes */
  constructor(args: {
    readonly store: Pick<ObjectStore, 'head'>;
    readonly direct: Pick<DirectStore, 'readAddress'>;
    readonly above: number;
    readonly now?: () => number;
  }) {
    this.#store = args.store;
    this.#direct = args.direct;
    this.#above = args.above;
    this.#now = args.now ?? Date.now;
  }

  /** Whether downloads of the file lead to the bucket. The same in every process, so that an address has one ETag. */
  covers({ size }: Pick<CloudFile, 'size'>): boolean {
    return size > this.#above;
  }

  /**
   * An address of the file's bytes.
   * @param linkEnds when the reader's expiring link ends, in seconds since 1970; null: it has none. The address ends five
   * minutes later at the latest, and not after the file
   */
  address(file: CloudFile, linkEnds: number | null, signal: AbortSignal): string | Promise<string> {
    const now = this.#now();
    const longest = Math.min(
      (isMedia(file) ? mediaLifetime : lifetime) + reusedFor,
      // an address has whole seconds, and one at least
      Math.max(1, Math.floor(((file.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now) / 1000)),
    );
    const left = linkEnds === null ? longest : linkEnds + lifetime - Math.floor(now / 1000);
    // all else is a property of the file, which never changes
    const id = left < longest ? `${file.objectKey} ${linkEnds}` : file.objectKey;
    const cached = this.#addresses.get(id);
    if (cached !== undefined && cached.reusedUntil > now) return cached.url;
    return this.#sign(file, { id, seconds: Math.min(left, longest), now, signal });
  }

  async #sign(
    { objectKey, contentType, originalName, name }: CloudFile,
    { id, seconds, now, signal }: { id: string; seconds: number; now: number; signal: AbortSignal },
  ): Promise<string> {
    const url = await this.#direct.readAddress(
      objectKey,
      {
        ...storedHeaders(contentType, originalName, name),
        cacheControl: 'private',
        lifetime: seconds,
      },
      signal,
    );
    this.#addresses.set(id, { url, reusedUntil: now + reusedFor * 1000 });
    return url;
  }

  /**
   * The validators of the bucket's own answers, so that an address has the same ones whoever answers. Throws 404 when
   * the object is missing. null: the bucket gives none.
   */
  async validators({ objectKey }: CloudFile, signal: AbortSignal): Promise<Validators | null> {
    const cached = this.#validators.get(objectKey);
    if (cached !== undefined) return cached;
    const object = await this.#store.head(objectKey, signal);
    if (object === null) throw fileNotFound();
    const { etag, lastModified } = object;
    if (etag === undefined || !etag.startsWith('"')) return null;
    const validators = { etag, lastModified };
    this.#validators.set(objectKey, validators);
    return validators;
  }
}

function isMedia({ contentType }: CloudFile): boolean {
  return contentType.startsWith('audio/') || contentType.startsWith('video/');
}
