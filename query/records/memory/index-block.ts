const entryBytes = 16;
const blockOverhead = 300;

/** A block of entries. Each has a hash, a key of the order and the number of a row. */
export class IndexBlock {
  count = 0;
  hashes: Uint32Array;
  keys: Float64Array;
  rows: Uint32Array;

  constructor(capacity: number) {
    this.hashes = new Uint32Array(capacity);
    this.keys = new Float64Array(capacity);
    this.rows = new Uint32Array(capacity);
  }

  get bytes(): number {
    return this.rows.length * entryBytes + blockOverhead;
  }

  grow(): void {
    const { hashes, keys, rows } = this;
    const capacity = 2 * rows.length;
    this.hashes = new Uint32Array(capacity);
    this.keys = new Float64Array(capacity);
    this.rows = new Uint32Array(capacity);
    this.hashes.set(hashes);
    this.keys.set(keys);
    this.rows.set(rows);
  }

  insert(at: number, hash: number, key: number, row: number): void {
    const { hashes, keys, rows, count } = this;
    hashes.copyWithin(at + 1, at, count);
    keys.copyWithin(at + 1, at, count);
    rows.copyWithin(at + 1, at, count);
    hashes[at] = hash;
    keys[at] = key;
    rows[at] = row;
    this.count++;
  }

  remove(at: number): void {
    const { hashes, keys, rows, count } = this;
    hashes.copyWithin(at, at + 1, count);
    keys.copyWithin(at, at + 1, count);
    rows.copyWithin(at, at + 1, count);
    this.count--;
  }

  /** Appends entries of another block. */
  take(other: IndexBlock, from: number): void {
    this.hashes.set(other.hashes.subarray(from, other.count), this.count);
    this.keys.set(other.keys.subarray(from, other.count), this.count);
    this.rows.set(other.rows.subarray(from, other.count), this.count);
    this.count += other.count - from;
  }
}
