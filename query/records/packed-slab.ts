/** Records begin at multiples of this. */
export const unit = 8;
const headWords = 3;
const wordBytes = 4;

/**
 * Records one behind the other. In front of each, as words: its size with them, the number of its space (0: it was removed),
 * how many hashes it is found by, and these.
 */
export class Slab {
  readonly index: number;
  readonly bytes: Buffer;
  readonly #words: Uint32Array;
  #at = 0;
  /** Bytes of records that were not removed. */
  live = 0;
  /** Number of the last write to any record that was put here. */
  last = 0;
  /** When one of them was asked for. */
  usedAt: number;

  /** @param bytes as `memory` makes them */
  constructor(index: number, bytes: Buffer, now: number) {
    this.index = index;
    this.bytes = bytes;
    this.#words = new Uint32Array(bytes.buffer, 0, bytes.byteLength / wordBytes);
    this.usedAt = now;
  }

  static memory(size: number): Buffer {
    return Buffer.allocUnsafeSlow(size);
  }

  static sizeOf(hashes: number, rowBytes: number): number {
    return Math.ceil(((headWords + hashes) * wordBytes + rowBytes) / unit) * unit;
  }

  get left(): number {
    return this.bytes.byteLength - this.#at;
  }

  add(space: number, hashes: readonly number[], bytes: Buffer, start: number, end: number): number {
    const at = this.#at;
    const size = Slab.sizeOf(hashes.length, end - start);
    let word = at / wordBytes;
    this.#words[word++] = size;
    this.#words[word++] = space;
    this.#words[word++] = hashes.length;
    for (const hash of hashes) this.#words[word++] = hash;
    bytes.copy(this.bytes, word * wordBytes, start, end);
    this.#at += size;
    this.live += size;
    return at;
  }

  remove(at: number): void {
    this.live -= this.sizeAt(at);
    this.#words[at / wordBytes + 1] = 0;
  }

  sizeAt(at: number): number {
    return this.#words[at / wordBytes] as number;
  }

  spaceAt(at: number): number {
    return this.#words[at / wordBytes + 1] as number;
  }

  hashesAt(at: number): number[] {
    const first = at / wordBytes + headWords;
    return Array.from(this.#words.subarray(first, first + (this.#words[first - 1] as number)));
  }

  /** Where the record itself begins, in the form of `packed-row.ts`; some bytes without a meaning may come behind it. */
  rowAt(at: number): number {
    return at + (headWords + (this.#words[at / wordBytes + 2] as number)) * wordBytes;
  }

  endAt(at: number): number {
    return at + this.sizeAt(at);
  }

  /** Of all records that were not removed. */
  *places(): Generator<number> {
    for (let at = 0; at < this.#at; at += this.sizeAt(at)) if (this.spaceAt(at) !== 0) yield at;
  }
}
