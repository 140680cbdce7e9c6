import { type Span, valueSpan } from '../sql/packed-row.ts';
import { IndexBlock } from './index-block.ts';
import type { BuiltIndex, IndexShape } from './index-shape.ts';
import { keyedWordHash } from './keyed-word-hash.ts';
import type { Probe } from './probe.ts';
import { compareFirst, compareTie, nameOf, orderKey, type RowOrder, sameValue } from './row-order.ts';
import type { RowSlabs } from './row-slabs.ts';

const smallestBlock = 16;
const largestBlock = 512;
/** Bytes of an index in addition to its blocks. */
const overhead = 1000;

/** The position of an entry, valid until the next change of the index. */
export interface Position {
  block: number;
  at: number;
}

export function isBehind(a: Position, b: Position): boolean {
  return a.block === b.block ? a.at > b.at : a.block > b.block;
}

type EdgeProbe = Pick<Probe, 'bytes' | 'row'> & { readonly edge?: 1 | -1 };

const span: Span = { start: 0, end: 0 };

/**
 * A sorted index, like the leaves of a B+ tree: blocks of entries, sorted by a hash of the values of some slots, then by
 * an order of rows. It finds the rows with given values, a page of them, or all rows in order.
 */
export class OrderedIndex implements BuiltIndex {
  readonly slots: readonly string[];
  readonly order: RowOrder;
  readonly #rows: RowSlabs;
  readonly #key: Uint32Array;
  #blocks: IndexBlock[] = [];
  /** Hashes shared by rows with different values. */
  readonly #shared = new Set<number>();
  bytes = overhead;
  size = 0;
  lastUse = 0;

  /** @param key of the hashes, two words that nobody can guess */
  constructor({ slots, order }: IndexShape, rows: RowSlabs, key: Uint32Array) {
    this.slots = slots;
    this.order = order;
    this.#rows = rows;
    this.#key = key;
  }

  /** The hash of a row's values; null: a value is missing. */
  hashOfRow(bytes: Buffer, row: number): number | null {
    let hash = 0;
    for (const slot of this.slots) {
      if (!valueSpan(bytes, row, nameOf(slot), span)) return null;
      hash = keyedWordHash(this.#key, hash, 0, bytes, span.start, span.end);
    }
    return hash;
  }

  /** The same of values as UTF-8, in the order of the slots. */
  hashOfValues(values: readonly Uint8Array[]): number {
    let hash = 0;
    for (const value of values) hash = keyedWordHash(this.#key, hash, 0, value, 0, value.byteLength);
    return hash;
  }

  /** Whether a change of a record from one version to another leaves its entry as it is. */
  isSame(before: Buffer, rowBefore: number, after: Buffer, rowAfter: number): boolean {
    const { order } = this;
    // its id is the same
    const sameOrder =
      order.kind === 'id' ||
      (orderKey(order, before, rowBefore) === orderKey(order, after, rowAfter) &&
        compareTie(order, before, rowBefore, after, rowAfter) === 0);
    return sameOrder && this.slots.every((slot) => sameValue(slot, before, rowBefore, after, rowAfter));
  }

  /** Adds a row of the table, which lies in `bytes` as well. */
  add(number: number, bytes: Buffer, row: number): void {
    const hash = this.hashOfRow(bytes, row);
    if (hash === null) return;
    const key = orderKey(this.order, bytes, row);
    const position = this.seek(hash, key, { bytes, row });
    this.#markShared(position, hash, bytes, row);
    this.#insert(position, hash, key, number);
    this.size++;
  }

  /** Removes the entry of a row as it is in `bytes`. */
  remove(number: number, bytes: Buffer, row: number): void {
    const hash = this.hashOfRow(bytes, row);
    if (hash === null) return;
    const position = this.seek(hash, orderKey(this.order, bytes, row), { bytes, row });
    const block = this.#blocks[position.block];
    if (block?.rows[position.at] !== number || position.at >= block.count)
      throw new Error('an index of rows in memory lacks an entry');
    block.remove(position.at);
    this.size--;
    this.#shrink(position.block);
  }

  /**
   * The first entry that does not come before this one.
   * @param probe breaks ties of the key; null: before all of them. With an edge it stands before all rows of its value by
   * the first part of the order (1), or behind them (-1)
   */
  seek(hash: number, key: number, probe: EdgeProbe | null): Position {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const block = this.#blocks[middle] as IndexBlock;
      if (this.#isBefore(block, block.count - 1, hash, key, probe)) low = middle + 1;
      else high = middle;
    }
    const block = this.#blocks[low];
    if (block === undefined) return { block: low, at: 0 };
    let [from, to] = [0, block.count - 1];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.#isBefore(block, middle, hash, key, probe)) from = middle + 1;
      else to = middle;
    }
    return { block: low, at: from };
  }

  begin(hash: number): Position {
    return this.seek(hash, Number.NEGATIVE_INFINITY, null);
  }

  /** The row at a position; -1: past the rows of the hash. */
  rowAt({ block: index, at }: Position, hash: number): number {
    const block = this.#blocks[index];
    return block !== undefined && block.hashes[at] === hash ? (block.rows[at] as number) : -1;
  }

  next(position: Position): void {
    const block = this.#blocks[position.block] as IndexBlock;
    if (++position.at < block.count) return;
    position.block++;
    position.at = 0;
  }

  /** Moves forward by this many entries of a hash, or to their end. */
  skip(position: Position, hash: number, count: number): void {
    for (let left = count; left > 0; ) {
      const block = this.#blocks[position.block];
      if (block === undefined || block.hashes[position.at] !== hash) return;
      const whole = block.hashes[block.count - 1] === hash;
      const step = whole ? Math.min(left, block.count - position.at) : 1;
      left -= step;
      position.at += step;
      if (position.at === block.count) {
        position.block++;
        position.at = 0;
      }
    }
  }

  hasMore(hash: number, count: number): boolean {
    const position = this.begin(hash);
    this.skip(position, hash, count);
    return this.rowAt(position, hash) >= 0;
  }

  isShared(hash: number): boolean {
    return this.#shared.has(hash);
  }

  #isBefore(block: IndexBlock, at: number, hash: number, key: number, probe: EdgeProbe | null): boolean {
    const other = block.hashes[at] as number;
    if (other !== hash) return other < hash;
    const otherKey = block.keys[at] as number;
    if (otherKey !== key) return otherKey < key;
    if (probe === null) return false;
    const number = block.rows[at] as number;
    const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    if (probe.edge === undefined) return compareTie(this.order, bytes, row, probe.bytes, probe.row) < 0;
    return (compareFirst(this.order, bytes, row, probe.bytes, probe.row) || probe.edge) < 0;
  }

  /** Marks a hash as shared if a neighbour of the new entry has other values. */
  #markShared({ block, at }: Position, hash: number, bytes: Buffer, row: number): void {
    if (this.slots.length === 0) return;
    let neighbour = this.rowAt({ block, at }, hash);
    if (neighbour < 0) {
      const before =
        at > 0 ? { block, at: at - 1 } : { block: block - 1, at: (this.#blocks[block - 1]?.count ?? 0) - 1 };
      // a position past the end of its block is in no block
      const last = this.#blocks[before.block];
      if (last !== undefined && before.at >= 0 && before.at < last.count)
        neighbour = this.rowAt(before, hash);
    }
    if (neighbour < 0) return;
    const [other, otherRow] = [this.#rows.bufferOf(neighbour), this.#rows.offsetOf(neighbour)];
    if (!this.slots.every((slot) => sameValue(slot, bytes, row, other, otherRow))) this.#shared.add(hash);
  }

  #insert(position: Position, hash: number, key: number, number: number): void {
    let { block: index, at } = position;
    let block = this.#blocks[index];
    if (block === undefined) {
      // past the end: append to the last block while it has room
      index = this.#blocks.length - 1;
      block = this.#blocks[index];
      if (block === undefined || block.count === largestBlock) {
        block = new IndexBlock(block === undefined ? smallestBlock : largestBlock);
        this.#blocks.push(block);
        this.bytes += block.bytes;
      }
      at = block.count;
    } else if (block.count === largestBlock) {
      const second = new IndexBlock(largestBlock);
      second.take(block, largestBlock / 2);
      block.count = largestBlock / 2;
      this.#blocks.splice(index + 1, 0, second);
      this.bytes += second.bytes;
      if (at > block.count) {
        at -= block.count;
        block = second;
      }
    }
    if (block.count === block.rows.length) {
      this.bytes -= block.bytes;
      block.grow();
      this.bytes += block.bytes;
    }
    block.insert(at, hash, key, number);
  }

  /** Joins a block that has become small with the next one. */
  #shrink(index: number): void {
    const block = this.#blocks[index] as IndexBlock;
    const next = this.#blocks[index + 1];
    if (block.count === 0) {
      this.#blocks.splice(index, 1);
      this.bytes -= block.bytes;
      return;
    }
    if (next === undefined || block.count + next.count > block.rows.length / 2) return;
    block.take(next, 0);
    this.#blocks.splice(index + 1, 1);
    this.bytes -= next.bytes;
  }
}
