import type { MemoryTables, TableLoad } from '../memory/memory-tables.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { LookupKey } from '../store/record-store.ts';

/** The effect of one write on one record. */
export interface RecordWrite {
  readonly spaceId: string;
  readonly id: string;
  /** The record after the write; null: removed. */
  readonly row: StoredRow | null;
  /** Hashes by slot; null: the write removed it. */
  readonly hashes: Readonly<Record<string, string | null>>;
  /** Slots that the write set; null: it made the record. */
  readonly changed: readonly string[] | null;
  /** Slots of unique fields: their values have keys. */
  readonly unique: readonly string[];
}

interface KnownRows {
  readonly rows: readonly StoredRow[];
  /** Whether these are all; false: the table may have more. */
  readonly complete: boolean;
  /** Ids whose rows in the table are outdated. */
  readonly outdated: ReadonlySet<string>;
}

interface PendingRecord {
  readonly key: string;
  readonly spaceId: string;
  readonly id: string;
  row: StoredRow | null;
  last: number;
  /** Its present and former unique values: each of them finds it. */
  readonly values: string[];
}

/** How many writes of a space are pending, and the number of the last one. */
interface Pending {
  count: number;
  last: number;
}

const none: ReadonlySet<string> = new Set();

/**
 * The newest state of records with a write that is not in the table yet (a memtable), and all records of the spaces
 * that are held in memory. It takes precedence over the table. It requires that no other process writes to the
 * table.
 */
export class KnownRecords {
  readonly #records = new Map<string, PendingRecord>();
  /** Several where a value moved from one record to another. */
  readonly #byValue = new Map<string, PendingRecord | readonly PendingRecord[]>();
  /** By space: of its records. */
  readonly #pending = new Map<string, Pending>();
  /** By space: of its blocks. */
  readonly #blocks = new Map<string, Pending>();
  readonly tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.tables = tables;
  }

  /** Null: nothing is pending or held, so the table has everything. */
  find(spaceId: string, wanted: LookupKey): KnownRows | null {
    const held = this.#findHeld(spaceId, wanted);
    if (held !== null) return { rows: held, complete: true, outdated: none };
    if ('id' in wanted) {
      const record = this.#records.get(`${spaceId} ${wanted.id}`);
      return record === undefined ? null : complete(record.row);
    }
    const { slot } = wanted;
    const value = String(wanted.value);
    const found = this.#byValue.get(valueKey(spaceId, slot, value));
    if (found === undefined) return null;
    const outdated = new Set<string>();
    for (const record of listOf(found)) {
      // at most one record has a unique value
      if (record.row?._doc[slot] === value) return complete(record.row);
      outdated.add(record.id);
    }
    return { rows: [], complete: false, outdated };
  }

  /** Number of the last write to a record of the space that the table lacks; undefined: it lacks none. */
  lastPending(spaceId: string): number | undefined {
    return this.#pending.get(spaceId)?.last;
  }

  /** @param before the record before the write, if there was one @param number larger than the number of any earlier write */
  apply({ spaceId, id, row, unique }: RecordWrite, before: StoredRow | null, number: number): void {
    const space = added(this.#pending, spaceId, number);
    const key = `${spaceId} ${id}`;
    let record = this.#records.get(key);
    if (record === undefined) {
      record = { key, spaceId, id, row, last: number, values: [] };
      this.#records.set(key, record);
      space.count++;
    }
    record.row = row;
    record.last = number;
    for (const slot of unique) {
      const [old, now] = [before?._doc[slot], row?._doc[slot]];
      this.#index(record, slot, old);
      if (now !== old) this.#index(record, slot, now);
    }
    this.tables.written(spaceId, id, row);
  }

  /** Called when the table has all writes to the record up to a number. */
  settle(spaceId: string, id: string, number: number): void {
    const record = this.#records.get(`${spaceId} ${id}`);
    if (record === undefined || record.last > number) return;
    removed(this.#pending, spaceId);
    this.#records.delete(record.key);
    for (const value of record.values) this.#unindex(record, value);
  }

  /** Many new records of a space that the table lacks. They are not found here. @param number as of `apply`, among blocks */
  applyBlock(spaceId: string, number: number): void {
    added(this.#blocks, spaceId, number).count++;
  }

  /** Called when the table has a block of the space. */
  settleBlock(spaceId: string): void {
    removed(this.#blocks, spaceId);
  }

  /** Number of the last block of the space that the table lacks; undefined: it lacks none. */
  lastBlock(spaceId: string): number | undefined {
    return this.#blocks.get(spaceId)?.last;
  }

  /**
   * To be called before the records of a space are read into memory. Null: they are in memory already, or
   * can't be: the table lacks some that are not known here. @param unique slots that records are looked up by
   */
  load(spaceId: string, account: string, unique: readonly string[]): TableLoad | null {
    if (this.#blocks.has(spaceId)) return null;
    const load = this.tables.begin(spaceId, account, unique);
    if (load === null) return null;
    for (const { spaceId: other, id, row } of this.#records.values())
      if (other === spaceId) this.tables.written(spaceId, id, row);
    return load;
  }

  #findHeld(spaceId: string, wanted: LookupKey): readonly StoredRow[] | null {
    const table = this.tables.find(spaceId);
    if (table === null) return null;
    if (!('id' in wanted)) return table.lookUp(wanted.slot, String(wanted.value));
    const row = table.get(wanted.id);
    return row === null ? [] : [row];
  }

  #index(record: PendingRecord, slot: string, value: string | undefined): void {
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

function added(pending: Map<string, Pending>, spaceId: string, number: number): Pending {
  const space = pending.get(spaceId) ?? { count: 0, last: 0 };
  pending.set(spaceId, space);
  space.last = number;
  return space;
}

function removed(pending: Map<string, Pending>, spaceId: string): void {
  const space = pending.get(spaceId) as Pending;
  if (--space.count === 0) pending.delete(spaceId);
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
