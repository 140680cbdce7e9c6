import { LRUCache } from 'lru-cache';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { type KeptResults, ownBytes, type ReadCache, RequestKeys } from '../store/kept-results.ts';
import type { BeginWrite } from '../store/statement-writes.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';

/** A record that a write makes. */
export type RecordEffect = Pick<StoredRow, '_id' | '_doc'>;

/** A write under way. Null: unknown which records it makes, changes or removes. */
interface OngoingWrite {
  readonly effects: readonly RecordEffect[] | null;
}

interface CachedResult {
  readonly space: SpaceResults;
  readonly key: string;
  /** Results that the same writes invalidate. */
  readonly group: ResultGroup;
  /** Null: still being read. */
  result: Uint8Array | null;
  /** The read, which other requests for the same result wait for. */
  reading: Promise<Uint8Array | null> | null;
  dropped: boolean;
}

/** The slots that conditions compare, in order, and their values. Null: any write may change the result. */
type Equalities = { readonly slots: string; readonly values: string } | null;

interface ResultGroup {
  readonly equalities: Equalities;
  readonly entries: Set<CachedResult>;
}

/** Results of one space, indexed by the writes that invalidate them. */
interface SpaceResults {
  readonly id: string;
  readonly byKey: Map<string, CachedResult>;
  /** By the slots of their conditions, and then by the values. */
  readonly byConditions: Map<string, Map<string, ResultGroup>>;
  readonly others: ResultGroup;
  readonly writes: Set<OngoingWrite>;
}

/** Bytes of an entry in addition to its result and its key. */
const overhead = 800;
/** The share of the cache that one result may take. */
const largestShare = 1 / 32;
/** Field sets of one space that are indexed; results with other conditions are invalidated by every write. */
const fieldSets = 32;
const separator = '\u0000';

/**
 * Caches results of reads, for a process that is the only writer of its store. Reads and writes of a record are linearizable
 * with or without the cache: from before a write can be seen until it is acknowledged, nothing that it may change is kept,
 * shared or answered from here. An insert concerns only results whose conditions its records meet. Before other writes, the
 * old values may be unknown: then they concern all results of the space.
 */
export class ResultCache implements ReadCache, KeptResults {
  readonly #entries: LRUCache<CachedResult, true>;
  readonly #spaces = new Map<string, SpaceResults>();
  readonly #keys = new RequestKeys();
  readonly #largest: number;
  readonly #counts: CacheCounts;

  /** @param bytes of results with their keys; 0: nothing is kept */
  constructor(bytes: number, counts = new CacheCounts()) {
    this.#counts = counts;
    this.#largest = bytes * largestShare;
    this.#entries = new LRUCache<CachedResult, true>({
      maxSize: Math.max(1, bytes),
      sizeCalculation: (_, entry) => sizeOf(entry),
      dispose: (_, entry) => this.#forget(entry),
    });
  }

  get hits(): number {
    return this.#counts.hits;
  }

  at(): KeptResults {
    return this;
  }

  get largest(): number {
    return this.#largest;
  }

  get(view: RecordSpace, request: string): Uint8Array | undefined {
    const entry = this.#spaces.get(view.id)?.byKey.get(this.#keys.of(view, request));
    if (entry === undefined || entry.result === null) return this.#counts.count(undefined);
    this.#entries.get(entry);
    return this.#counts.count(entry.result);
  }

  keep(view: RecordSpace, request: string, conditions: Conditions | null, result: Uint8Array): void {
    if (result.byteLength > this.#largest) return;
    const entry = this.#add(view.id, this.#keys.of(view, request), conditions);
    if (!entry.dropped) this.#keep(entry, result);
  }

  underway(view: RecordSpace, request: string): Promise<Uint8Array | null> | null {
    const entry = this.#spaces.get(view.id)?.byKey.get(this.#keys.of(view, request));
    if (entry === undefined) return null;
    return entry.result === null ? entry.reading : Promise.resolve(entry.result);
  }

  async share(
    view: RecordSpace,
    request: string,
    conditions: Conditions | null,
    reading: Promise<Uint8Array | null>,
  ): Promise<Uint8Array | null> {
    if (this.#largest === 0) return reading;
    const entry = this.#add(view.id, this.#keys.of(view, request), conditions);
    if (entry.dropped) return reading;
    entry.reading = reading;
    try {
      const result = await reading;
      if (!entry.dropped && result !== null && result.byteLength <= this.#largest) {
        this.#keep(entry, result);
      } else {
        this.#forget(entry);
      }
      return result;
    } catch (error) {
      this.#forget(entry);
      throw error;
    }
  }

  /**
   * To be called before a write can be seen. The function returned is to be called when all see the write, before it
   * is acknowledged. @param effects null: unknown, or too many
   */
  begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    const space = this.#spaceOf(spaceId);
    const write = { effects };
    space.writes.add(write);
    if (effects === null) for (const entry of space.byKey.values()) this.#drop(entry);
    else this.#dropMatching(space, effects);
    return () => {
      space.writes.delete(write);
      this.#forgetSpace(space);
    };
  }

  /** The same for writes by statements. */
  readonly beginWrite: BeginWrite = async (spaceId) => {
    const end = this.begin(spaceId, null);
    return async () => end();
  };

  #dropMatching(space: SpaceResults, effects: readonly RecordEffect[]): void {
    for (const entry of space.others.entries) this.#drop(entry);
    for (const [slots, byValues] of space.byConditions) {
      const names = slots.split(',');
      for (const effect of effects) {
        const values = valuesOf(names, effect);
        if (values === null) continue;
        for (const entry of byValues.get(values)?.entries ?? []) this.#drop(entry);
      }
    }
  }

  #spaceOf(id: string): SpaceResults {
    let space = this.#spaces.get(id);
    if (space === undefined) {
      const others = { equalities: null, entries: new Set<CachedResult>() };
      space = { id, byKey: new Map(), byConditions: new Map(), others, writes: new Set() };
      this.#spaces.set(id, space);
    }
    return space;
  }

  #forgetSpace(space: SpaceResults): void {
    if (space.byKey.size === 0 && space.writes.size === 0) this.#spaces.delete(space.id);
  }

  #add(spaceId: string, key: string, conditions: Conditions | null): CachedResult {
    const space = this.#spaceOf(spaceId);
    const equalities = conditions === null ? null : equalitiesOf(conditions);
    const dropped = concerns(space.writes, equalities);
    const group = dropped ? space.others : groupOf(space, equalities);
    const entry: CachedResult = { space, key, group, result: null, reading: null, dropped };
    if (dropped) return entry;
    space.byKey.set(key, entry);
    group.entries.add(entry);
    return entry;
  }

  #keep(entry: CachedResult, result: Uint8Array): void {
    entry.result = ownBytes(result);
    entry.reading = null;
    this.#entries.set(entry, true);
  }

  #drop(entry: CachedResult): void {
    if (entry.result === null) this.#forget(entry);
    else this.#entries.delete(entry);
  }

  #forget(entry: CachedResult): void {
    if (entry.dropped) return;
    entry.dropped = true;
    const { space, key, group } = entry;
    if (space.byKey.get(key) === entry) space.byKey.delete(key);
    group.entries.delete(entry);
    if (group.equalities !== null && group.entries.size === 0) {
      const byValues = space.byConditions.get(group.equalities.slots);
      byValues?.delete(group.equalities.values);
      if (byValues?.size === 0) space.byConditions.delete(group.equalities.slots);
    }
    this.#forgetSpace(space);
  }
}

function groupOf({ byConditions, others }: SpaceResults, equalities: Equalities): ResultGroup {
  if (equalities === null || (byConditions.size === fieldSets && !byConditions.has(equalities.slots)))
    return others;
  const byValues = byConditions.get(equalities.slots) ?? new Map<string, ResultGroup>();
  byConditions.set(equalities.slots, byValues);
  const group = byValues.get(equalities.values) ?? { equalities, entries: new Set() };
  byValues.set(equalities.values, group);
  return group;
}

function concerns(writes: ReadonlySet<OngoingWrite>, equalities: Equalities): boolean {
  for (const { effects } of writes) {
    if (effects === null || equalities === null) return true;
    const names = equalities.slots.split(',');
    if (effects.some((effect) => valuesOf(names, effect) === equalities.values)) return true;
  }
  return false;
}

function sizeOf({ key, group, result }: CachedResult): number {
  return overhead + 2 * (key.length + (group.equalities?.values.length ?? 0)) + (result?.byteLength ?? 0);
}

/** If all equalities have to hold, they alone decide which writes matter, whatever the order and page. */
function equalitiesOf({ relationship, plain, others, hashed }: Conditions): Equalities {
  if (hashed.length > 0 || plain.length === 0) return null;
  if (relationship === 'Or' && plain.length + others.length > 1) return null;
  const values = new Map<string, string>();
  for (const { target, value } of plain) {
    if (target === 'createdAt' || target === 'updatedAt') return null;
    const slot = typeof target === 'string' ? target : slotOf(target);
    // no record ever meets two values of one field
    values.set(slot, String(value));
  }
  const slots = [...values.keys()].sort();
  return { slots: slots.join(','), values: slots.map((slot) => values.get(slot)).join(separator) };
}

/** Null: the record has no value in one of them, so it meets no condition. */
function valuesOf(slots: readonly string[], { _id, _doc }: RecordEffect): string | null {
  const values: string[] = [];
  for (const slot of slots) {
    const value = slot === 'id' ? _id : _doc[slot];
    if (value === undefined) return null;
    values.push(value);
  }
  return values.join(separator);
}
