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

/** What the memtable says of a look-up. */
export interface PendingRows {
  readonly rows: readonly StoredRow[];
  /** Whether these are all that there are; false: the table may have others. */
  readonly complete: boolean;
  /** Ids of rows that do not count, should the table have them. */
  readonly outdated: ReadonlySet<string>;
}

interface PendingRecord {
  readonly spaceId: string;
  readonly id: string;
  row: StoredRow | null;
  /** Number of the last write. */
  last: number;
  /** Under which unique values it is found: those that it has, and those that it had. */
  readonly values: Set<string>;
}

const none: ReadonlySet<string> = new Set();

/**
 * The newest state of records of which a write is not in the table yet, found by id and by unique value. What it says
 * goes before what the table says: so a look-up needs no look at both.
 */
export class Memtable {
  readonly #records = new Map<string, PendingRecord>();
  readonly #byValue = new Map<string, Set<PendingRecord>>();
  /** How many records of a space are here, and the number of the last write to one of them. */
  readonly #spaces = new Map<string, { count: number; last: number }>();

  /** Null: nothing is known, so the table knows it all. */
  find(spaceId: string, wanted: LookupKey): PendingRows | null {
    if (!this.#spaces.has(spaceId)) return null;
    if ('id' in wanted) {
      const record = this.#records.get(idKey(spaceId, wanted.id));
      if (record === undefined) return null;
      return { rows: record.row === null ? [] : [record.row], complete: true, outdated: none };
    }
    const { slot, value } = wanted;
    const found = this.#byValue.get(valueKey(spaceId, slot, String(value)));
    if (found === undefined) return null;
    const rows: StoredRow[] = [];
    const outdated = new Set<string>();
    for (const { id, row } of found) {
      outdated.add(id);
      if (row !== null && row._doc[slot] === String(value)) rows.push(row);
    }
    // of a unique value there is one record
    return { rows, complete: rows.length > 0, outdated };
  }

  /** Number of the last write to a record of the space that is still here; undefined: there is none. */
  lastWriteTo(spaceId: string): number | undefined {
    return this.#spaces.get(spaceId)?.last;
  }

  /** @param before the record before the write, where there was one @param number larger than that of any write before */
  apply({ spaceId, id, row, unique }: RecordWrite, before: StoredRow | null, number: number): void {
    const key = idKey(spaceId, id);
    let record = this.#records.get(key);
    const space = this.#spaces.get(spaceId) ?? { count: 0, last: 0 };
    this.#spaces.set(spaceId, space);
    space.last = number;
    if (record === undefined) {
      record = { spaceId, id, row, last: number, values: new Set() };
      this.#records.set(key, record);
      space.count++;
    } else {
      record.row = row;
      record.last = number;
    }
    for (const slot of unique) {
      this.#index(record, slot, before);
      this.#index(record, slot, row);
    }
  }

  /** Forgets a record unless there was a later write to it. @param number of the last write that the table has */
  forget(spaceId: string, id: string, number: number): void {
    const key = idKey(spaceId, id);
    const record = this.#records.get(key);
    if (record === undefined || record.last > number) return;
    this.#records.delete(key);
    for (const value of record.values) {
      const found = this.#byValue.get(value) as Set<PendingRecord>;
      found.delete(record);
      if (found.size === 0) this.#byValue.delete(value);
    }
    const space = this.#spaces.get(spaceId) as { count: number };
    if (--space.count === 0) this.#spaces.delete(spaceId);
  }

  #index(record: PendingRecord, slot: string, row: StoredRow | null): void {
    const value = row?._doc[slot];
    if (value === undefined) return;
    const key = valueKey(record.spaceId, slot, value);
    record.values.add(key);
    const found = this.#byValue.get(key);
    if (found === undefined) this.#byValue.set(key, new Set([record]));
    else found.add(record);
  }
}

function idKey(spaceId: string, id: string): string {
  return `${spaceId} ${id}`;
}

function valueKey(spaceId: string, slot: string, value: string): string {
  return `${spaceId} ${slot} ${value}`;
}
