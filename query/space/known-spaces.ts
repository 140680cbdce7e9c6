import { LRUCache } from 'lru-cache';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import type { Invalidation } from '#coordination/redis/invalidation.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type Structure, structureText } from '#records/structure/structure.ts';
import { structureView } from './structure-view.ts';

/** The share of one account. */
const accountShare = 1 / 4;
/** Of a space, and of each character of its structure's text, as measured with 1 to 40 fields. Bytes. */
const spaceBytes = 1500;
const characterBytes = 2.5;

interface KnownSpace {
  readonly space: RecordSpace;
  readonly version: number;
  readonly read: ReadMoment;
  /** Structures that were compared with this version, as requests with them see the space. */
  readonly views: WeakMap<Structure, { readonly space: RecordSpace; readonly merged: boolean }>;
  /** Structures that the stored one took in, in this version or an earlier one. */
  readonly merged: WeakSet<Structure>;
  readonly size: number;
}

/**
 * A cache of record spaces: a request whose structure was seen before asks no store. Another process may change a space:
 * what is older than `freshFor` is read again while it is still used, and what is older than `staleAfter` is not used.
 * Where changes are announced, what may have changed is read again before it is used.
 */
export class KnownSpaces {
  readonly #spaces: LRUCache<string, KnownSpace>;
  /** The kept spaces of an account, the one that was read longest ago first. */
  readonly #accounts = new Map<string, { size: number; readonly ids: Set<string> }>();
  readonly #closed = new Set<string>();
  readonly #accountBytes: number;
  readonly #freshFor: number;
  readonly #now: () => number;
  readonly #freshness: Freshness;

  /** @param args times in milliseconds, and the bytes that may be kept */
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
   * @param since when the request came: a space that was read after that is good for it, whatever others do meanwhile
   */
  stored(id: string, since?: number): RecordSpace | null {
    return this.#closed.has(id) ? null : this.lastStored(id, since);
  }

  /** The same, also while it is closed: for reads that do not depend on its rules. */
  lastStored(id: string, since?: number): RecordSpace | null {
    return this.#usable(id, since)?.space ?? null;
  }

  /** The space as a request with this structure sees it; null when the two have to be compared first. */
  view(id: string, structure: Structure, mutate: boolean, since?: number): RecordSpace | null {
    const known = this.#closed.has(id) ? null : this.#usable(id, since);
    if (known === null) return null;
    const view = known.views.get(structure);
    return view !== undefined && (view.merged || !mutate) ? view.space : null;
  }

  needsRead(id: string): boolean {
    // nobody else changes it
    if (this.#freshFor === Number.POSITIVE_INFINITY) return false;
    const known = this.#spaces.peek(id);
    return known !== undefined && this.#now() - known.read.began > this.#freshFor;
  }

  /** The newest version that was seen; undefined: none is remembered. */
  versionOf(id: string): number | undefined {
    return this.#spaces.peek(id)?.version;
  }

  /** Whether the stored structure once took in this one. */
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

  /** Evicts a space that is gone, or of which nothing known counts. */
  forget(id: string): void {
    this.#spaces.delete(id);
  }

  /** Notes that a structure fits the remembered version. @param merged the stored structure took it in */
  addView(stored: RecordSpace, structure: Structure, merged: boolean): RecordSpace {
    const space = { ...stored, structure: structureView(stored.stored, structure) };
    const known = this.#spaces.peek(stored.catalogueId);
    known?.views.set(structure, { space, merged });
    if (merged) known?.merged.add(structure);
    return space;
  }

  /** Runs work during which nobody gets the space from here. */
  async whileClosed<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    this.#closed.add(id);
    try {
      return await work();
    } finally {
      this.#closed.delete(id);
    }
  }

  /** An account with many spaces evicts its own, and not those of others. */
  #enter(account: string, id: string, size: number): void {
    // an entry larger than the cache is not kept at all
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
    // its end has to be seen at once: by then others write values where this version does not have them
    if (known.space.stored.typeChange !== null) return null;
    return this.#freshness.isFresh(id, known.read) ? known : null;
  }
}

function sizeOf({ stored, rules = '' }: RecordSpace): number {
  return spaceBytes + Math.ceil(characterBytes * (structureText(stored).length + rules.length));
}
