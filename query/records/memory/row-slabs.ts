const smallestSlab = 4 * 1024;
const largestSlab = 1024 * 1024;
/** Rows begin at multiples of this, so that 32 bits name places in 32 GiB. */
const unit = 8;
const headBytes = 8;
const unitsOfSlab = largestSlab / unit;
/** A slab with less than this share in use is emptied. */
const sparse = 0.5;

interface Slab {
  readonly bytes: Buffer;
  used: number;
  live: number;
}

/**
 * A slab allocator for the packed rows of one space, outside of the heap. A row keeps its number when it is moved or
 * replaced. The size and the number of a row precede it.
 */
export class RowSlabs {
  /** Of one row. */
  static readonly largest = largestSlab - headBytes;
  readonly #slabs: (Slab | undefined)[] = [];
  /** Place by number, in units and from 1; 0: the number is free. */
  #places = new Uint32Array(16);
  readonly #free: number[] = [];
  #current = -1;
  /** Numbers that were ever given. */
  count = 0;
  live = 0;
  bytes = 16 * 4;

  add(bytes: Buffer, start: number, end: number): number {
    let row = this.#free.pop();
    if (row === undefined) {
      row = this.count++;
      if (row === this.#places.length) this.#growPlaces();
    }
    this.live++;
    this.#put(row, bytes, start, end);
    return row;
  }

  replace(row: number, bytes: Buffer, start: number, end: number): void {
    const before = this.#places[row] as number;
    this.#put(row, bytes, start, end);
    this.#giveUp(before);
  }

  remove(row: number): void {
    const before = this.#places[row] as number;
    this.#places[row] = 0;
    this.#free.push(row);
    this.live--;
    this.#giveUp(before);
  }

  has(row: number): boolean {
    return this.#places[row] !== 0;
  }

  bufferOf(row: number): Buffer {
    return (this.#slabs[Math.floor(((this.#places[row] as number) - 1) / unitsOfSlab)] as Slab).bytes;
  }

  offsetOf(row: number): number {
    return (((this.#places[row] as number) - 1) % unitsOfSlab) * unit + headBytes;
  }

  #put(row: number, bytes: Buffer, start: number, end: number): void {
    const size = Math.ceil((headBytes + end - start) / unit) * unit;
    let slab = this.#slabs[this.#current];
    if (slab === undefined || slab.used + size > slab.bytes.byteLength) slab = this.#newSlab(size);
    const at = slab.used;
    slab.bytes.writeUInt32LE(size, at);
    slab.bytes.writeUInt32LE(row, at + 4);
    bytes.copy(slab.bytes, at + headBytes, start, end);
    slab.used += size;
    slab.live += size;
    this.#places[row] = this.#current * unitsOfSlab + at / unit + 1;
  }

  #newSlab(size: number): Slab {
    let length = smallestSlab;
    while (length < largestSlab && (length < size || length < this.bytes / 4)) length *= 2;
    let index = this.#slabs.indexOf(undefined);
    if (index < 0) index = this.#slabs.length;
    const slab = { bytes: Buffer.allocUnsafeSlow(length), used: 0, live: 0 };
    this.#slabs[index] = slab;
    this.#current = index;
    this.bytes += length;
    return slab;
  }

  #giveUp(place: number): void {
    const index = Math.floor((place - 1) / unitsOfSlab);
    const slab = this.#slabs[index] as Slab;
    slab.live -= slab.bytes.readUInt32LE(((place - 1) % unitsOfSlab) * unit);
    if (index === this.#current || slab.live >= slab.bytes.byteLength * sparse) return;
    for (let at = 0; at < slab.used; ) {
      const size = slab.bytes.readUInt32LE(at);
      const row = slab.bytes.readUInt32LE(at + 4);
      const isLive = this.#places[row] === index * unitsOfSlab + at / unit + 1;
      if (isLive) this.#put(row, slab.bytes, at + headBytes, at + size);
      at += size;
    }
    this.#slabs[index] = undefined;
    this.bytes -= slab.bytes.byteLength;
  }

  #growPlaces(): void {
    const before = this.#places;
    this.#places = new Uint32Array(Math.ceil(before.length * 1.5));
    this.#places.set(before);
    this.bytes += (this.#places.length - before.length) * 4;
  }
}
