import { LRUCache } from 'lru-cache';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';

/** The largest file that is kept. */
export const smallFileBytes = 64 * 1024;

/**
 * Lifetime of a kept file. Milliseconds. Deletions are announced; this bounds the rest: an object that was removed from
 * the store directly, and a deletion by a process that Redis does not answer while it answers this one.
 */
const keptFor = { singleWriter: 60_000, shared: 5000 } as const;
/** Bytes of a file besides its own: its row, its headers and its place here. */
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

interface Kept {
  readonly served: ServedFile;
  readonly bytes: Buffer;
  readonly read: ReadMoment;
}

/**
 * A cache of small files that are read often, ready to be sent. Files never change. Once a deletion is answered, this
 * process does not have the file, and others keep it no longer than a revoked token
 * (docs/decisions/011-token-cache-and-invalidation.md). Readers are authorised elsewhere.
 */
export class SmallFiles {
  readonly #kept: LRUCache<string, Kept> | null;
  readonly #freshness: Freshness;
  readonly #counts: CacheCounts;

  /**
   * @param args.bytes memory for all of them; 0: none are kept
   * @param args.alone no other process deletes files
   * @param args.invalidation announcements of others' deletions; without them, none are kept
   */
  constructor(args: {
    readonly bytes: number;
    readonly singleWriter: boolean;
    readonly invalidation?: Invalidation;
    readonly counts?: CacheCounts;
  }) {
    const { bytes, singleWriter, invalidation = unannounced, counts = new CacheCounts() } = args;
    const keeps = bytes > 0 && (singleWriter || invalidation.announces);
    const ttl = singleWriter ? keptFor.singleWriter : keptFor.shared;
    this.#kept = keeps
      ? new LRUCache({
          ...{ maxSize: bytes, ttl, ttlResolution: 1000 },
          sizeCalculation: (kept) => kept.bytes.byteLength + entryBytes,
        })
      : null;
    this.#freshness = new Freshness({
      invalidation,
      announcedFor: keptFor.shared,
      otherwiseFor: singleWriter ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
    });
    this.#counts = counts;
  }

  get(name: string): Kept | undefined {
    const kept = this.#kept?.get(name);
    if (kept === undefined || !this.#freshness.isFresh(idOf(name), kept.read)) return undefined;
    this.#counts.hits++;
    return kept;
  }

  /** To be called before the look-up of a file. */
  begin(): ReadMoment {
    return this.#freshness.begin();
  }

  /** Keeps a file that was found after `begin`, unless one was removed meanwhile. */
  keep(served: ServedFile, bytes: Buffer, read: ReadMoment): void {
    this.#counts.misses++;
    if (this.#freshness.mayKeep(read)) this.#kept?.set(served.file.name, { served, bytes, read });
  }

  /** Wraps `remove`, so that a file is gone from here before its removal is answered. */
  over<Files extends CloudFiles>(files: Files): Files {
    const remove = files.remove.bind(files);
    return Object.assign(files, {
      remove: async (name: string, signal: AbortSignal) => {
        try {
          return await remove(name, signal);
        } finally {
          this.#kept?.delete(name);
          await this.#freshness.changed(idOf(name));
        }
      },
    });
  }
}

function idOf(name: string): string {
  return `file:${name}`;
}
