import { LRUCache } from 'lru-cache';
import type { LookupKey } from './record-lookups.ts';
import type { StoredRow } from './record-row.ts';

/** What one write did to one record. */
export interface RecordWrite {
  readonly spaceId: string;
  readonly id: string;
  /** The record as it is then; null: it was removed. */
  readonly row: StoredRow | null;
  /** By slot, hashes that it set, and null for those that it took out. */
  readonly hashes: Readonly<Record<string, string | null>>;
  /** Slots that it set; null: it made the record. */
  readonly changed: readonly string[] | null;
  /** Slots of unique fields: their values have keys. */
  readonly unique: readonly string[];
}

/** What is known of a look-up. */
export interface KnownRows {
  readonly rows: readonly StoredRow[];
  /** Whether these are all that there are; false: the table may have others. */
  readonly complete: boolean;
  /** Ids of rows that do not count, should the table have them. */
  readonly outdated: ReadonlySet<string>;
}

interface KnownRecord {
  readonly key: string;
  readonly spaceId: string;
  readonly id: string;
  row: StoredRow | null;
  /** Number of the last write to it; 0: it was only read. */
  last: number;
  /** Whether the table does not have the last write. */
  pending: boolean;
  /** Under which unique values it is found: those that it has, and while it is pending those that it had. */
  values: Set<string>;
}

const none: ReadonlySet<string> = new Set();
/** Bytes that a record takes here beside its texts. */
const overhead = 700;

/**
 * The newest state of records, by id and by unique value: of all that have a write which is not in the table yet (a
 * memtable), and of others that were read or written lately, as far as they fit. What it says goes before what the table
 * says. It is only right where nobody else writes to the table.
 */
export class KnownRecords {
  readonly #records = new Map<string, KnownRecord>();
  readonly #byValue = new Map<string, Set<KnownRecord>>();
  /** Those that may be forgotten. */
  readonly #settled: LRUCache<string, KnownRecord> | null;
  /** How many records of a space are pending, and the number of the last write to one of them. */
  readonly #pending = new Map<string, { count: number; last: number }>();
  /** Of writes to records that were forgotten, the last. What was read before may be older than it. */
  #forgotten = 0;

  /** @param bytes of records that are kept although they are in the table */
  constructor(bytes: number) {
    this.#settled =
      bytes === 0
        ? null
        : new LRUCache({
            maxSize: bytes,
            sizeCalculation: ({ row }) => sizeOf(row),
            dispose: (record, _, reason) => {
              if (reason === 'evict') this.#drop(record);
            },
          });
  }

  /** Null: nothing is known, so the table knows it all. */
  find(spaceId: string, wanted: LookupKey): KnownRows | null {
    if ('id' in wanted) {
      const record = this.#records.get(`${spaceId} ${wanted.id}`);
      if (record === undefined) return null;
      return { rows: record.row === null ? [] : [this.#use(record)], complete: true, outdated: none };
    }
    const { slot, value } = wanted;
    const found = this.#byValue.get(valueKey(spaceId, slot, String(value)));
    if (found === undefined) return null;
    const rows: StoredRow[] = [];
    const outdated = new Set<string>();
    for (const record of found) {
      outdated.add(record.id);
      if (record.row?._doc[slot] === String(value)) rows.push(this.#use(record));
    }
    // of a unique value there is one record
    return { rows, complete: rows.length > 0, outdated };
  }

  /** Number of the last write to a record of the space that the table lacks; undefined: it lacks none. */
  lastPending(spaceId: string): number | undefined {
    return this.#pending.get(spaceId)?.last;
  }

  /** @param before the record before the write, where there was one @param number larger than that of any write before */
  apply({ spaceId, id, row, unique }: RecordWrite, before: StoredRow | null, number: number): void {
    const space = this.#pending.get(spaceId) ?? { count: 0, last: 0 };
    this.#pending.set(spaceId, space);
    space.last = number;
    const record = this.#recordOf(spaceId, id);
    if (!record.pending) {
      space.count++;
      this.#settled?.delete(record.key);
    }
    record.row = row;
    record.last = number;
    record.pending = true;
    for (const slot of unique) {
      this.#index(record, slot, before);
      this.#index(record, slot, row);
    }
  }

  /** The table has all writes to the record up to a number. */
  settle(spaceId: string, id: string, number: number): void {
    const record = this.#records.get(`${spaceId} ${id}`);
    if (record === undefined || !record.pending || record.last > number) return;
    record.pending = false;
    const space = this.#pending.get(spaceId) as { count: number };
    if (--space.count === 0) this.#pending.delete(spaceId);
    this.#keep(record);
  }

  /**
   * Keeps a record that was read. @param unique slots that it can be found by
   * @param since number of the last write when the reading began
   */
  remember(spaceId: string, row: StoredRow, unique: readonly string[], since: number): void {
    // a record that was written meanwhile is known already, or was and may be newer than this
    if (this.#settled === null || since < this.#forgotten || this.#records.has(`${spaceId} ${row._id}`))
      return;
    const record = this.#recordOf(spaceId, row._id);
    record.row = row;
    for (const slot of unique) this.#index(record, slot, row);
    this.#keep(record);
  }

  /** The records of a space were changed in the table. @param number as if all had been written to */
  forget(spaceId: string, number: number): void {
    this.#forgotten = number;
    for (const record of this.#records.values()) {
      if (record.spaceId !== spaceId || record.pending) continue;
      this.#settled?.delete(record.key);
      this.#drop(record);
    }
  }

  #recordOf(spaceId: string, id: string): KnownRecord {
    const key = `${spaceId} ${id}`;
    let record = this.#records.get(key);
    if (record === undefined) {
      record = { key, spaceId, id, row: null, last: 0, pending: false, values: new Set() };
      this.#records.set(key, record);
    }
    return record;
  }

  #use(record: KnownRecord): StoredRow {
    if (!record.pending) this.#settled?.get(record.key);
    return record.row as StoredRow;
  }

  #keep(record: KnownRecord): void {
    const { row, values, key, spaceId } = record;
    if (row === null || this.#settled === null) {
      this.#drop(record);
      return;
    }
    for (const value of values) {
      const slot = value.slice(spaceId.length + 1, value.indexOf(' ', spaceId.length + 1));
      const kept = row._doc[slot];
      if (kept === undefined || valueKey(spaceId, slot, kept) !== value) this.#unindex(record, value);
    }
    this.#settled.set(key, record);
    // one that is larger than all there is room for
    if (!this.#settled.has(key)) this.#drop(record);
  }

  #drop(record: KnownRecord): void {
    if (!this.#records.delete(record.key)) return;
    this.#forgotten = Math.max(this.#forgotten, record.last);
    for (const value of record.values) this.#unindex(record, value);
  }

  #index(record: KnownRecord, slot: string, row: StoredRow | null): void {
    const value = row?._doc[slot];
    if (value === undefined) return;
    const key = valueKey(record.spaceId, slot, value);
    record.values.add(key);
    const found = this.#byValue.get(key);
    if (found === undefined) this.#byValue.set(key, new Set([record]));
    else found.add(record);
  }

  #unindex(record: KnownRecord, value: string): void {
    record.values.delete(value);
    const found = this.#byValue.get(value);
    found?.delete(record);
    if (found?.size === 0) this.#byValue.delete(value);
  }
}

function valueKey(spaceId: string, slot: string, value: string): string {
  return `${spaceId} ${slot} ${value}`;
}

function sizeOf(row: StoredRow | null): number {
  let size = overhead;
  for (const slot in row?._doc) size += 40 + 2 * (row._doc[slot] as string).length;
  return size;
}
