import { LRUCache } from 'lru-cache';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import { type KeptResults, ownBytes, type ReadCache, RequestKeys } from '../store/kept-results.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { RepeatedQuestions } from './repeated-questions.ts';
import type { SpaceVersions } from './space-versions.ts';

interface VersionedResult {
  readonly version: string;
  readonly bytes: Uint8Array;
}

/** Bytes of an entry in addition to its result and its key. */
const overhead = 400;
/** The share of the cache that one result may take. */
const largestShare = 1 / 64;
const nothingKept: KeptResults = {
  largest: 0,
  get: () => undefined,
  keep: () => {},
  underway: () => null,
  share: (_view, _request, _conditions, reading) => reading,
};

/**
 * Caches results of reads, for processes that share a store. A result is valid for the version of its space that was read
 * before it: while a space has a version, nobody writes to it (docs/decisions/026-cache-between-processes.md).
 */
export class VersionedCache implements ReadCache {
  readonly #versions: SpaceVersions;
  readonly #largest: number;
  readonly #counts: CacheCounts;
  readonly #keys = new RequestKeys();
  /** Many requests come only once: they need no version, and their results are not cached. */
  readonly #repeated = new RepeatedQuestions();
  readonly #results: LRUCache<string, VersionedResult>;
  /** By version and key. */
  readonly #reading = new Map<string, Promise<Uint8Array | null>>();

  /** @param args.bytes of results with their keys; 0: nothing is kept */
  constructor(args: { versions: SpaceVersions; bytes: number; counts?: CacheCounts | undefined }) {
    this.#versions = args.versions;
    this.#largest = args.bytes * largestShare;
    this.#counts = args.counts ?? new CacheCounts();
    this.#results = new LRUCache<string, VersionedResult>({
      maxSize: Math.max(1, args.bytes),
      sizeCalculation: ({ version, bytes }, key) =>
        overhead + 2 * (key.length + version.length) + bytes.byteLength,
    });
  }

  at(view: RecordSpace, request: string): KeptResults | Promise<KeptResults> {
    if (this.#largest === 0) return nothingKept;
    if (this.#repeated.again(this.#keys.of(view, request))) return this.#at(view.id);
    this.#counts.count(null);
    return nothingKept;
  }

  async #at(spaceId: string): Promise<KeptResults> {
    const version = await this.#versions.read(spaceId);
    if (version === null) {
      this.#counts.count(null);
      return nothingKept;
    }
    return {
      largest: this.#largest,
      get: (view, request) => this.#get(version, view, request),
      // processes that share a store have no rows in memory
      keep: () => {},
      underway: (view, request) => this.#reading.get(`${version} ${this.#keys.of(view, request)}`) ?? null,
      share: (view, request, _, reading) => this.#share(version, this.#keys.of(view, request), reading),
    };
  }

  #get(version: string, view: RecordSpace, request: string): Uint8Array | undefined {
    const kept = this.#results.get(this.#keys.of(view, request));
    return this.#counts.count(kept?.version === version ? kept.bytes : undefined);
  }

  async #share(
    version: string,
    key: string,
    reading: Promise<Uint8Array | null>,
  ): Promise<Uint8Array | null> {
    const name = `${version} ${key}`;
    this.#reading.set(name, reading);
    try {
      const bytes = await reading;
      if (bytes !== null && bytes.byteLength <= this.#largest)
        this.#results.set(key, { version, bytes: ownBytes(bytes) });
      return bytes;
    } finally {
      this.#reading.delete(name);
    }
  }
}
