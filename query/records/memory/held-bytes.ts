import { largeRow } from '../sql/records-table.ts';
import { RowSlabs } from './row-slabs.ts';

/** Id, times, head and padding of a row, and its slot in the tables, which may have grown beyond what they need. */
const rowBytes = 75;
/** An entry of an index whose blocks are half full. */
const entryBytes = 34;
/** Overhead of a table, and of each index, with their first blocks. */
const tableBytes = 8 * 1024;
const indexBytes = 2 * 1024;
const mebibyte = 1024 * 1024;

export interface RowSizes {
  readonly count: number;
  /** Bytes of all values and their slots; rows above `largeRow` count twice. */
  readonly bytes: number;
  /** Bytes of the values of the largest record. */
  readonly largest: number;
}

/** The most that a table in memory takes: a space that may not fit is not loaded. @param indexes including the index of ids */
export function heldBytes({ count, bytes, largest }: RowSizes, indexes: number): number {
  if (largest > RowSlabs.largest) return Number.POSITIVE_INFINITY;
  const rows = (count * rowBytes + bytes) * (1 + largeRow / mebibyte);
  // the last slab is as large as half of the others at most
  const lastSlab = Math.min(rows / 2, mebibyte);
  return tableBytes + rows + lastSlab + indexes * (indexBytes + count * entryBytes);
}
