import { HashIndex } from './hash-index.ts';
import { PackedKeys } from './packed-keys.ts';
import { RowWriter, readRow } from './packed-row.ts';
import { Slab, unit } from './packed-slab.ts';
import type { StoredRow } from './record-row.ts';

/** Bytes of a slab: many records, and few slabs. */
const largestSlab = 1024 * 1024;
const smallestSlab = 1024;
const slabsAtLeast = 16;
/** Places are numbers of 32 bits. */
const mostBytes = 16 * 1024 ** 3;
/** Of a slab: one that has no more than this is emptied into another one, which has room for any record then. */
const sparse = 0.75;
/** What a space takes here. */
const spaceBytes = 300;
/** A slab that nobody asked for so long is free for others. Milliseconds. */
const idleAfter = 60_000;

interface Space {
  readonly id: string;
  readonly number: number;
  records: number;
  bytes: number;
}

/**
 * Records in memory that is not the heap's: packed into slabs, found by id and by the values of some slots. It takes no
 * more than it may; what was not asked for the longest time goes first, a slab at a time.
 */
export class PackedRecords {
  /** Bytes of a record that is kept. */
  readonly largest: number;
  readonly #limit: number;
  readonly #slabBytes: number;
  readonly #onDropped: (last: number) => void;
  readonly #now: () => number;
  readonly #keys = new PackedKeys();
  readonly #index = new HashIndex();
  readonly #spaces = new Map<string, Space>();
  readonly #byNumber = new Map<number, Space>();
  readonly #slabs: (Slab | undefined)[] = [];
  readonly #writer = new RowWriter();
  #current: Slab | null = null;
  /** Memory of a slab that was given up, for the next one. */
  #spare: Buffer | null = null;
  #count = 0;
  #nextSpace = 1;
  /** Bytes of records of spaces that were given up. */
  #retired = 0;

  /** @param onDropped told the number of a write that is as late as any to a record that was dropped for want of room */
  constructor(bytes: number, onDropped: (last: number) => void, now: () => number = Date.now) {
    const most = Math.min(bytes, mostBytes);
    const slab = Math.min(largestSlab, Math.max(smallestSlab, most / slabsAtLeast));
    this.#slabBytes = slab - (slab % unit);
    this.largest = this.#slabBytes * (1 - sparse);
    // a slab that is emptied is there beside the one that takes its records
    this.#limit = most - this.#slabBytes;
    this.#onDropped = onDropped;
    this.#now = now;
  }

  /** All memory that is held. */
  get bytes(): number {
    return this.#count * this.#slabBytes + this.#index.bytes + this.#spaces.size * spaceBytes;
  }

  /** Bytes that records could take without any that were asked for lately being dropped. */
  get room(): number {
    const before = this.#now() - idleAfter;
    let busy = this.#index.bytes - this.#retired;
    for (const slab of this.#slabs) if (slab !== undefined && slab.usedAt >= before) busy += slab.live;
    return Math.max(0, this.#limit - busy);
  }

  get(spaceId: string, id: string): StoredRow | null {
    return this.#rowOf(this.#placeOf(spaceId, id));
  }

  has(spaceId: string, id: string): boolean {
    return this.#placeOf(spaceId, id) !== 0;
  }

  /** The record that has a value of a slot which it is kept by. */
  byValue(spaceId: string, slot: string, value: string): StoredRow | null {
    const space = this.#spaces.get(spaceId);
    if (space === undefined) return null;
    const hash = this.#keys.hashOfText(space.number, slot, value);
    const place = this.#index.find(hash, (number) => {
      const { slab, at } = this.#at(number);
      return slab.spaceAt(at) === space.number && this.#keys.hasValue(slab.bytes, slab.rowAt(at), slot);
    });
    return this.#rowOf(place);
  }

  /**
   * Keeps a record that is not here yet; false: there is no room for it. @param slots that it is found by
   * @param last number of the last write to it
   */
  add(spaceId: string, row: StoredRow, slots: readonly string[], last: number): boolean {
    const bytes = this.#writer.write(row, this.largest);
    return bytes !== null && this.addPacked(spaceId, { bytes, start: 0, end: bytes.byteLength }, slots, last);
  }

  /** The same with a record in the form of `packed-row.ts`. @param idleOnly nothing is dropped that was asked for lately */
  addPacked(
    spaceId: string,
    { bytes, start, end }: { readonly bytes: Buffer; readonly start: number; readonly end: number },
    slots: readonly string[],
    last: number,
    idleOnly = false,
  ): boolean {
    const space = this.#spaces.get(spaceId) ?? this.#newSpace(spaceId);
    const hashes = this.#keys.hashesOf(space.number, bytes, start, slots);
    const slab = this.#slabFor(Slab.sizeOf(hashes.length, end - start), idleOnly);
    if (slab === null) {
      this.#forgetEmpty(space);
      return false;
    }
    slab.last = Math.max(slab.last, last);
    const at = slab.add(space.number, hashes, bytes, start, end);
    const size = slab.sizeAt(at);
    space.records++;
    space.bytes += size;
    const place = this.#numberOf(slab, at);
    for (const hash of hashes) this.#index.add(hash, place);
    return true;
  }

  remove(spaceId: string, id: string): void {
    const place = this.#placeOf(spaceId, id);
    if (place === 0) return;
    const { slab, at } = this.#at(place);
    this.#drop(slab, at);
  }

  /** Gives up all records of a space at once. What they take becomes free when room is needed. */
  removeSpace(spaceId: string): void {
    const space = this.#spaces.get(spaceId);
    if (space === undefined) return;
    this.#spaces.delete(spaceId);
    this.#byNumber.delete(space.number);
    this.#retired += space.bytes;
  }

  #placeOf(spaceId: string, id: string): number {
    const space = this.#spaces.get(spaceId);
    if (space === undefined) return 0;
    const hash = this.#keys.hashOfText(space.number, '', id);
    return this.#index.find(hash, (number) => {
      const { slab, at } = this.#at(number);
      return slab.spaceAt(at) === space.number && this.#keys.hasId(slab.bytes, slab.rowAt(at));
    });
  }

  #rowOf(place: number): StoredRow | null {
    if (place === 0) return null;
    const { slab, at } = this.#at(place);
    slab.usedAt = this.#now();
    return readRow(slab.bytes, slab.rowAt(at));
  }

  #newSpace(id: string): Space {
    const space = { id, number: this.#nextSpace++, records: 0, bytes: 0 };
    this.#spaces.set(id, space);
    this.#byNumber.set(space.number, space);
    return space;
  }

  #forgetEmpty(space: Space): void {
    if (space.records > 0) return;
    this.#spaces.delete(space.id);
    this.#byNumber.delete(space.number);
  }

  #drop(slab: Slab, at: number): void {
    const place = this.#numberOf(slab, at);
    for (const hash of slab.hashesAt(at)) this.#index.remove(hash, place);
    const size = slab.sizeAt(at);
    const space = this.#byNumber.get(slab.spaceAt(at));
    slab.remove(at);
    if (space === undefined) {
      this.#retired -= size;
      return;
    }
    space.records--;
    space.bytes -= size;
    this.#forgetEmpty(space);
  }

  #numberOf(slab: Slab, at: number): number {
    return slab.index * (this.#slabBytes / unit) + at / unit + 1;
  }

  #at(number: number): { readonly slab: Slab; readonly at: number } {
    const units = this.#slabBytes / unit;
    const index = Math.floor((number - 1) / units);
    return { slab: this.#slabs[index] as Slab, at: (number - 1 - index * units) * unit };
  }

  /** A slab that has so much left; null: there is none, and none may be emptied for it. */
  #slabFor(size: number, idleOnly: boolean): Slab | null {
    if (size > this.largest) return null;
    while (this.bytes > this.#limit && this.#count > 1) if (!this.#giveUpOne(idleOnly)) return null;
    while (this.#current === null || this.#current.left < size) {
      if (this.bytes + this.#slabBytes <= this.#limit) this.#current = this.#newSlab();
      else if (!this.#emptySparse() && !this.#giveUpOne(idleOnly)) return null;
    }
    return this.#current;
  }

  #newSlab(): Slab {
    let index = this.#slabs.indexOf(undefined);
    if (index < 0) index = this.#slabs.length;
    const slab = new Slab(index, this.#spare ?? Slab.memory(this.#slabBytes), this.#now());
    this.#spare = null;
    this.#slabs[index] = slab;
    this.#count++;
    return slab;
  }

  #release(slab: Slab): void {
    this.#slabs[slab.index] = undefined;
    this.#count--;
    this.#spare = slab.bytes;
    if (this.#current === slab) this.#current = null;
  }

  /** Moves what is left of the emptiest slab into a new one, which is the current one then. */
  #emptySparse(): boolean {
    let from: Slab | undefined;
    for (const slab of this.#slabs)
      if (slab && slab.live < (from?.live ?? this.#slabBytes * sparse)) from = slab;
    if (from === undefined) return false;
    const to = this.#newSlab();
    to.usedAt = from.usedAt;
    to.last = from.last;
    for (const at of from.places()) {
      const number = from.spaceAt(at);
      if (!this.#byNumber.has(number)) {
        this.#drop(from, at);
        continue;
      }
      const [before, hashes] = [this.#numberOf(from, at), from.hashesAt(at)];
      const moved = to.add(number, hashes, from.bytes, from.rowAt(at), from.endAt(at));
      for (const hash of hashes) this.#index.replace(hash, before, this.#numberOf(to, moved));
    }
    this.#release(from);
    this.#current = to;
    return true;
  }

  /** Drops the slab that was not asked for the longest time. */
  #giveUpOne(idleOnly: boolean): boolean {
    let oldest: Slab | undefined;
    for (const slab of this.#slabs)
      if (slab && slab.usedAt < (oldest?.usedAt ?? Number.POSITIVE_INFINITY)) oldest = slab;
    if (oldest === undefined) return false;
    if (idleOnly && oldest.usedAt >= this.#now() - idleAfter) return false;
    for (const at of oldest.places()) this.#drop(oldest, at);
    this.#onDropped(oldest.last);
    this.#release(oldest);
    return true;
  }
}
