import { PackedRecords } from './packed-records.ts';
import { RecordLoad } from './record-load.ts';
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

/** A record with a write that is not in the table yet. */
interface PendingRecord {
  readonly key: string;
  readonly spaceId: string;
  readonly id: string;
  row: StoredRow | null;
  /** Number of the last write to it. */
  last: number;
  /** Slots that it is found by when it is kept. */
  unique: readonly string[];
  /** Under which unique values it is found: those that it has, and those that it had. */
  readonly values: string[];
}

const none: ReadonlySet<string> = new Set();

/**
 * The newest state of records, by id and by unique value: of all that have a write which is not in the table yet (a
 * memtable), and of others that were read or written, as far as they fit. What it says goes before what the table says. It
 * is only right where nobody else writes to the table.
 */
export class KnownRecords {
  readonly #records = new Map<string, PendingRecord>();
  /** One, or several where a value went from one to another. */
  readonly #byValue = new Map<string, PendingRecord | readonly PendingRecord[]>();
  /** Those that the table has as well; a record that is pending is not among them. */
  protected readonly packed: PackedRecords | null;
  /** How many records of a space are pending, and the number of the last write to one of them. */
  readonly #pending = new Map<string, { count: number; last: number }>();
  readonly #loads = new Map<string, RecordLoad>();
  /** Of writes to records that were forgotten, the last. What was read before may be older than it. */
  #forgotten = 0;

  /** @param bytes of records that are kept although they are in the table */
  constructor(bytes: number) {
    this.packed =
      bytes === 0
        ? null
        : new PackedRecords(bytes, (last) => {
            this.#forgotten = Math.max(this.#forgotten, last);
          });
  }

  /** Whether records of the table are kept at all. */
  get keeps(): boolean {
    return this.packed !== null;
  }

  /** Bytes that records of the table could take without any that were asked for lately being forgotten. */
  get room(): number {
    return this.packed?.room ?? 0;
  }

  /** What such records take. */
  get bytes(): number {
    return this.packed?.bytes ?? 0;
  }

  /** Null: nothing is known, so the table knows it all. */
  find(spaceId: string, wanted: LookupKey): KnownRows | null {
    if ('id' in wanted) {
      const record = this.#records.get(`${spaceId} ${wanted.id}`);
      if (record !== undefined) return complete(record.row);
      return orNothing(this.packed?.get(spaceId, wanted.id));
    }
    const { slot } = wanted;
    const value = String(wanted.value);
    const found = this.#byValue.get(valueKey(spaceId, slot, value));
    const outdated = new Set<string>();
    for (const record of listOf(found)) {
      // of a unique value there is one record
      if (record.row?._doc[slot] === value) return complete(record.row);
      outdated.add(record.id);
    }
    const packed = orNothing(this.packed?.byValue(spaceId, slot, value));
    return packed ?? (found === undefined ? null : { rows: [], complete: false, outdated });
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
    const key = `${spaceId} ${id}`;
    let record = this.#records.get(key);
    if (record === undefined) {
      record = { key, spaceId, id, row, last: number, unique, values: [] };
      this.#records.set(key, record);
      space.count++;
      this.packed?.remove(spaceId, id);
    }
    record.row = row;
    record.last = number;
    record.unique = unique;
    for (const slot of unique) {
      this.#index(record, slot, before);
      this.#index(record, slot, row);
    }
    this.#loads.get(spaceId)?.written(id);
  }

  /** The table has all writes to the record up to a number. */
  settle(spaceId: string, id: string, number: number): void {
    const record = this.#records.get(`${spaceId} ${id}`);
    if (record === undefined || record.last > number) return;
    const { row, last, unique } = record;
    const space = this.#pending.get(spaceId) as { count: number };
    if (--space.count === 0) this.#pending.delete(spaceId);
    this.#records.delete(record.key);
    for (const value of record.values) this.#unindex(record, value);
    if (row === null || !this.packed?.add(spaceId, row, unique, last))
      this.#forgotten = Math.max(this.#forgotten, last);
  }

  /**
   * Keeps a record that was read. @param unique slots that it can be found by
   * @param since number of the last write when the reading began
   */
  remember(spaceId: string, row: StoredRow, unique: readonly string[], since: number): void {
    // a record that was written meanwhile is known already, or was and may be newer than this
    if (this.packed === null || since < this.#forgotten || this.#records.has(`${spaceId} ${row._id}`)) return;
    if (!this.packed.has(spaceId, row._id)) this.packed.add(spaceId, row, unique, 0);
  }

  /**
   * To be called before the records of a space are read one after the other, to keep them. Null: nothing is kept, or they
   * are read already. @param unique slots that they can be found by
   */
  load(spaceId: string, unique: readonly string[]): RecordLoad | null {
    if (this.packed === null || this.#loads.has(spaceId)) return null;
    const load = new RecordLoad(this.packed, spaceId, unique, () => this.#loads.delete(spaceId));
    for (const record of this.#records.values()) if (record.spaceId === spaceId) load.written(record.id);
    this.#loads.set(spaceId, load);
    return load;
  }

  /** The records of a space were changed in the table. @param number as if all had been written to */
  forget(spaceId: string, number: number): void {
    this.#forgotten = number;
    this.#loads.get(spaceId)?.end();
    this.packed?.removeSpace(spaceId);
  }

  #index(record: PendingRecord, slot: string, row: StoredRow | null): void {
    const value = row?._doc[slot];
    if (value === undefined) return;
    const key = valueKey(record.spaceId, slot, value);
    if (record.values.includes(key)) return;
    record.values.push(key);
    const found = this.#byValue.get(key);
    this.#byValue.set(key, found === undefined ? record : [...listOf(found), record]);
  }

  #unindex(record: PendingRecord, value: string): void {
    const left = listOf(this.#byValue.get(value)).filter((other) => other !== record);
    if (left.length === 0) this.#byValue.delete(value);
    else this.#byValue.set(value, left);
  }
}

function listOf(found: PendingRecord | readonly PendingRecord[] | undefined): readonly PendingRecord[] {
  if (found === undefined) return [];
  return 'key' in found ? [found] : found;
}

function valueKey(spaceId: string, slot: string, value: string): string {
  return `${spaceId} ${slot} ${value}`;
}

function complete(row: StoredRow | null): KnownRows {
  return { rows: row === null ? [] : [row], complete: true, outdated: none };
}

function orNothing(row: StoredRow | null | undefined): KnownRows | null {
  return row == null ? null : complete(row);
}
