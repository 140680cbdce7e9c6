import { LRUCache } from 'lru-cache';
import { type Structure, structureText } from '../structure/structure.ts';
import type { RecordSpace } from './record-space.ts';
import { structureView } from './structure-view.ts';

/** Characters of stored structures that are kept. */
const keptCharacters = 16 * 1024 * 1024;

interface KnownSpace {
  /** With the stored structure. */
  readonly space: RecordSpace;
  /** The table of this version is known to be complete. */
  readonly version: number;
  readonly checkedAt: number;
  /** Structures that were compared with this version, as requests with them see the space. */
  readonly views: WeakMap<Structure, { readonly space: RecordSpace; readonly merged: boolean }>;
  /** Structures that the stored one took in, in this version or an earlier one. */
  readonly merged: WeakSet<Structure>;
  readonly size: number;
}

/**
 * What a process knows of record spaces, so that a request whose structure was seen before asks nobody. Another
 * process may change a space: what is older than `freshFor` is looked up again while it is still used, and what is
 * older than `staleAfter` is not used.
 */
export class KnownSpaces {
  readonly #spaces = new LRUCache<string, KnownSpace>({
    maxSize: keptCharacters,
    sizeCalculation: ({ size }) => size,
  });
  readonly #closed = new Set<string>();
  readonly #freshFor: number;
  readonly #staleAfter: number;
  readonly #now: () => number;

  /** @param args times in milliseconds */
  constructor(args: { freshFor: number; staleAfter: number; now?: () => number }) {
    this.#freshFor = args.freshFor;
    this.#staleAfter = args.staleAfter;
    this.#now = args.now ?? (() => performance.now());
  }

  /** The space with its stored structure. */
  stored(id: string): RecordSpace | null {
    return this.#closed.has(id) ? null : this.lastStored(id);
  }

  /** The same, also while it is closed: for reads that do not depend on its rules. */
  lastStored(id: string): RecordSpace | null {
    return this.#usable(id)?.space ?? null;
  }

  /** The space as a request with this structure sees it; null when the two have to be compared first. */
  view(id: string, structure: Structure, mutate: boolean): RecordSpace | null {
    const known = this.#closed.has(id) ? null : this.#usable(id);
    if (known === null) return null;
    const view = known.views.get(structure);
    return view !== undefined && (view.merged || !mutate) ? view.space : null;
  }

  /** Whether the space should be looked up again. */
  needsLook(id: string): boolean {
    const known = this.#spaces.peek(id);
    return known !== undefined && this.#now() - known.checkedAt > this.#freshFor;
  }

  /** Whether the table of a version is known to be complete. */
  hasVersion(id: string, version: number): boolean {
    return this.#spaces.peek(id)?.version === version;
  }

  /** Whether the stored structure once took in this one. */
  hasMerged(id: string, structure: Structure): boolean {
    return this.#spaces.peek(id)?.merged.has(structure) === true;
  }

  /** Notes what the catalogue has now, and that the table is complete. */
  remember(space: RecordSpace, version: number): RecordSpace {
    const before = this.#spaces.peek(space.id);
    const same = before?.version === version;
    const known = same ? before.space : space;
    this.#spaces.set(space.id, {
      space: known,
      version,
      checkedAt: this.#now(),
      views: same ? before.views : new WeakMap(),
      merged: before?.merged ?? new WeakSet(),
      size: same ? before.size : structureText(space.stored).length,
    });
    return known;
  }

  /** Notes that a structure fits the remembered version. @param merged the stored structure took it in */
  addView(stored: RecordSpace, structure: Structure, merged: boolean): RecordSpace {
    const space = { ...stored, structure: structureView(stored.stored, structure) };
    const known = this.#spaces.peek(stored.id);
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

  #usable(id: string): KnownSpace | null {
    const known = this.#spaces.get(id);
    return known !== undefined && this.#now() - known.checkedAt <= this.#staleAfter ? known : null;
  }
}
