import { LRUCache } from 'lru-cache';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import type { Invalidation } from '#coordination/redis/invalidation.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type Structure, structureText } from '#records/structure/structure.ts';
import { structureView } from './structure-view.ts';

/** The part of the cache that one account may fill. */
const accountShare = 1 / 4;
/** Bytes of a space, and of each character of its structure's text, as measured with 1 to 40 fields. */
const spaceBytes = 1500;
const characterBytes = 2.5;

interface KnownSpace {
  readonly space: RecordSpace;
  readonly version: number;
  readonly read: ReadMoment;
  /** Structures that were compared with this version, each with the space as its requests see it. */
  readonly views: WeakMap<Structure, { readonly space: RecordSpace; readonly merged: boolean }>;
  /** Structures that were merged into the stored one, in this version or an earlier one. */
  readonly merged: WeakSet<Structure>;
  readonly size: number;
}

/**
 * A cache of record spaces: a request whose structure was seen before needs no store. Another process may change a space,
 * so entries older than `freshFor` are refreshed in the background, and entries older than `staleAfter` are not used. Where
 * changes are announced, an entry that may have changed is read again before it is used.
 */
export class KnownSpaces {
  readonly #spaces: LRUCache<string, KnownSpace>;
  /** The cached spaces of each account, least recently read first. */
  readonly #accounts = new Map<string, { size: number; readonly ids: Set<string> }>();
  readonly #closed = new Set<string>();
  readonly #accountBytes: number;
  readonly #freshFor: number;
  readonly #now: () => number;
  readonly #freshness: Freshness;

  /** @param args times in milliseconds; the capacity in bytes */
  constructor(args: {
    bytes: number;
    freshFor: number;
    staleAfter: number;
    now?: () => number;
    invalidation: Invalidation;
  }) {
    const { bytes, freshFor, staleAfter, now = () => performance.now(), invalidation } = args;
    this.#accountBytes = bytes * accountShare;
    this.#spaces = new LRUCache({
      maxSize: bytes,
      sizeCalculation: ({ size }) => size,
      dispose: ({ space, size }, id) => this.#leave(space.ownerId, id, size),
    });
    this.#freshFor = freshFor;
    this.#now = now;
    this.#freshness = new Freshness({
      invalidation,
      announcedFor: staleAfter,
      otherwiseFor: invalidation.announces ? Number.NEGATIVE_INFINITY : staleAfter,
      now,
    });
  }

  begin(): ReadMoment {
    return this.#freshness.begin();
  }

  /**
   * The space with its stored structure.
   * @param since when the request came: a space that was read later is current for it
   */
  stored(id: string, since?: number): RecordSpace | null {
    return this.#closed.has(id) ? null : this.lastStored(id, since);
  }

  /** The same even while the space is closed: for reads that do not depend on its rules. */
  lastStored(id: string, since?: number): RecordSpace | null {
    return this.#usable(id, since)?.space ?? null;
  }

  /** The space as a request with this structure sees it; null: the structures must be compared first. */
  view(id: string, structure: Structure, mutate: boolean, since?: number): RecordSpace | null {
    const known = this.#closed.has(id) ? null : this.#usable(id, since);
    if (known === null) return null;
    const view = known.views.get(structure);
    return view !== undefined && (view.merged || !mutate) ? view.space : null;
  }

  needsRead(id: string): boolean {
    // no other process changes it
    if (this.#freshFor === Number.POSITIVE_INFINITY) return false;
    const known = this.#spaces.peek(id);
    return known !== undefined && this.#now() - known.read.began > this.#freshFor;
  }

  /** The cached version; undefined: none. */
  versionOf(id: string): number | undefined {
    return this.#spaces.peek(id)?.version;
  }

  /** Whether this structure was merged into the stored one before. */
  hasMerged(id: string, structure: Structure): boolean {
    return this.#spaces.peek(id)?.merged.has(structure) === true;
  }

  remember(space: RecordSpace, version: number, read: ReadMoment): RecordSpace {
    const id = space.catalogueId;
    const before = this.#spaces.peek(id);
    const same = before?.version === version;
    const known = same ? before.space : space;
    const size = same ? before.size : sizeOf(space);
    this.#spaces.set(id, {
      space: known,
      version,
      read,
      views: same ? before.views : new WeakMap(),
      merged: before?.merged ?? new WeakSet(),
      size,
    });
    this.#enter(space.ownerId, id, size);
    return known;
  }

  /** Evicts a space. */
  forget(id: string): void {
    this.#spaces.delete(id);
  }

  /** Notes that a structure fits the cached version. @param merged whether it was merged into the stored one */
  addView(stored: RecordSpace, structure: Structure, merged: boolean): RecordSpace {
    const known = this.#spaces.peek(stored.catalogueId);
    // a view that is compared with the one before stays the same object
    const before = known?.space === stored ? known.views.get(structure)?.space : undefined;
    const space = before ?? { ...stored, structure: structureView(stored.stored, structure) };
    known?.views.set(structure, { space, merged });
    if (merged) known?.merged.add(structure);
    return space;
  }

  /** Runs work during which the cache does not serve the space. */
  async whileClosed<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    this.#closed.add(id);
    try {
      return await work();
    } finally {
      this.#closed.delete(id);
    }
  }

  /** An account with many spaces evicts only its own. */
  #enter(account: string, id: string, size: number): void {
    // an entry larger than the cache is not cached at all
    if (!this.#spaces.has(id)) return;
    let own = this.#accounts.get(account);
    if (own === undefined) {
      own = { size: 0, ids: new Set() };
      this.#accounts.set(account, own);
    }
    own.size += size;
    own.ids.add(id);
    for (const oldest of own.ids) {
      if (own.size <= this.#accountBytes || oldest === id) break;
      this.#spaces.delete(oldest);
    }
  }

  #leave(account: string, id: string, size: number): void {
    const own = this.#accounts.get(account);
    if (own === undefined) return;
    own.size -= size;
    own.ids.delete(id);
    if (own.ids.size === 0) this.#accounts.delete(account);
  }

  #usable(id: string, since = Number.POSITIVE_INFINITY): KnownSpace | null {
    const known = this.#spaces.get(id);
    if (known === undefined) return null;
    if (known.read.began >= since) return known;
    // the end of a type change must be seen at once: other processes then write to slots that this version lacks
    if (known.space.stored.typeChange !== null) return null;
    return this.#freshness.isFresh(id, known.read) ? known : null;
  }
}

function sizeOf({ stored, rules = '' }: RecordSpace): number {
  return spaceBytes + Math.ceil(characterBytes * (structureText(stored).length + rules.length));
}
