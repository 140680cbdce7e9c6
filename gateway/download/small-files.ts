import { LRUCache } from 'lru-cache';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { fileId } from '../catalogue/file-row-cache.ts';

/** The largest file that is cached. Bytes. */
export const smallFileBytes = 64 * 1024;

/**
 * Lifetime of a cached file. Milliseconds. Deletions are announced; this bounds the rest: an object that was removed
 * directly from the store, and a deletion by a process that has lost Redis while this one has not.
 */
const lifetimes = { singleWriter: 60_000, shared: 5000 } as const;
/** Memory of a file besides its bytes: its row, its headers and the cache entry. */
const entryBytes = 2048;

/** The constant parts of the answers to a file's downloads. */
export interface ServedFile {
  readonly file: CloudFile;
  readonly etag: string;
  readonly lastModified: Date;
  /** Headers of a 304. */
  readonly copyHeaders: Readonly<Record<string, string>>;
  /** Headers of an answer with its bytes. */
  readonly headers: Readonly<Record<string, string>>;
}

interface CachedFile {
  /** The file that readers need a right to: of a picture, the original. */
  readonly file: CloudFile;
  readonly served: ServedFile;
  readonly bytes: Buffer;
  readonly read: ReadMoment;
}

/**
 * A cache of small files, ready to be sent. Files never change. Once a deletion is answered, this process no longer has
 * the file, and others keep it no longer than a revoked token
 * (docs/decisions/011-token-cache-and-invalidation.md). Readers are authorised elsewhere.
 */
export class SmallFiles {
  readonly #cache: LRUCache<string, CachedFile> | null;
  readonly #freshness: Freshness;
  readonly #counts: CacheCounts;

  /**
   * @param args.bytes memory of the cache; 0: no cache
   * @param args.singleWriter no other process deletes files
   * @param args.invalidation announces deletions by other processes; without it nothing is cached
   */
  constructor(args: {
    readonly bytes: number;
    readonly singleWriter: boolean;
    readonly invalidation?: Invalidation;
    readonly counts?: CacheCounts;
  }) {
    const { bytes, singleWriter, invalidation = unannounced, counts = new CacheCounts() } = args;
    const keeps = bytes > 0 && (singleWriter || invalidation.announces);
    const ttl = singleWriter ? lifetimes.singleWriter : lifetimes.shared;
    this.#cache = keeps
      ? new LRUCache({
          maxSize: bytes,
          ttl,
          ttlResolution: 1000,
          sizeCalculation: (cached) => cached.bytes.byteLength + entryBytes,
        })
      : null;
    this.#freshness = new Freshness({
      invalidation,
      announcedFor: lifetimes.shared,
      otherwiseFor: singleWriter ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
    });
    this.#counts = counts;
  }

  /** Whether it caches files at all. */
  get isOn(): boolean {
    return this.#cache !== null;
  }

  /** @param picture which picture of the file; empty: the file itself */
  get(name: string, picture = ''): CachedFile | undefined {
    const cached = this.#cache?.get(keyOf(name, picture));
    if (cached === undefined || !this.#freshness.isFresh(fileId(name), cached.read)) return undefined;
    // a file that this process changes leaves the cache; its pictures do not
    if (picture !== '' && !this.#freshness.mayKeep(cached.read)) return undefined;
    this.#counts.hits++;
    return cached;
  }

  /** Call before looking up a file. */
  begin(): ReadMoment {
    return this.#freshness.begin();
  }

  /**
   * Caches a file, or a picture of it, that was found after `begin`, unless it may have been removed meanwhile.
   * With a picture, `file` is the original.
   */
  keep(
    served: ServedFile,
    bytes: Buffer,
    read: ReadMoment,
    { file = served.file, picture = '' }: { readonly file?: CloudFile; readonly picture?: string } = {},
  ): void {
    this.#counts.misses++;
    if (this.#freshness.mayKeep(read))
      this.#cache?.set(keyOf(file.name, picture), { file, served, bytes, read });
  }

  /** Wraps `remove` and `change`, so that a file leaves the cache, everywhere, before they are answered. */
  over<Files extends CloudFiles>(files: Files): Files {
    const remove = files.remove.bind(files);
    const change = files.change.bind(files);
    const changed = async (name: string): Promise<void> => {
      this.#cache?.delete(name);
      await this.#freshness.changed(fileId(name));
    };
    return Object.assign(files, {
      remove: (name: string, signal: AbortSignal) => remove(name, signal).finally(() => changed(name)),
      change: (...args: Parameters<CloudFiles['change']>) =>
        change(...args).finally(() => Promise.all(args[0].map(changed))),
    });
  }
}

/** No name of a file has a question mark. */
function keyOf(name: string, picture: string): string {
  return picture === '' ? name : `${name}?${picture}`;
}
