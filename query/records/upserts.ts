import { ApiError } from '#kernel/errors/api-error.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import { firstByValues } from './first-by-values.ts';
import { GatheredEvents } from './gathered-events.ts';
import { equals } from './input/parse-conditions.ts';
import type { OnConflict } from './input/parse-on-conflict.ts';
import { validateChanges } from './input/validate-changes.ts';
import type { RecordValues } from './input/validate-record.ts';
import type { RecordChanges } from './record-changes.ts';
import type { RecordInserts } from './record-inserts.ts';
import type { RecordReader } from './record-reader.ts';
import { filledIn, mayTouch, unbound } from './ruled.ts';
import { newRecordJson } from './sql/new-record.ts';
import { storedJson } from './sql/record-row.ts';
import type { StoredRow } from './sql/stored-row.ts';
import type { RecordStore } from './store/record-store.ts';
import type { Field } from './structure/field.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { slotOf } from './structure/slots.ts';
import type { StoredValue } from './types/field-type.ts';
import { alreadyStored, collectUniqueValues } from './unique-values.ts';

export interface Upsert {
  readonly space: RecordSpace;
  readonly onConflict: OnConflict;
  /** As the body has them, and as they are stored where there is none. */
  readonly given: readonly unknown[];
  readonly values: readonly RecordValues[];
}

export interface UpsertOutcome {
  /** The JSON of each, in order. */
  readonly records: readonly string[];
  readonly inserted: number;
  readonly updated: number;
  /** Left as they are. */
  readonly skipped: number;
}

export interface UpsertParts {
  readonly store: RecordStore;
  readonly reader: RecordReader;
  readonly records: RecordInserts;
  readonly changes: RecordChanges;
  /** Receives the events of everything written, at the end. */
  readonly events: RecordEvents;
}

/** Records that are looked up, or changed, at once. */
const atOnce = 100;

/** Stores records, or changes the stored ones that have their unique value already. */
export class Upserts {
  readonly #parts: UpsertParts;
  readonly #upsert: Upsert;
  readonly #signal: AbortSignal;
  /** The JSON of each record, as soon as it is done. */
  readonly #done: (string | undefined)[];
  readonly #events: GatheredEvents;
  #inserted = 0;
  #updated = 0;

  constructor(parts: UpsertParts, upsert: Upsert, signal: AbortSignal) {
    this.#parts = parts;
    this.#upsert = upsert;
    this.#signal = signal;
    this.#events = new GatheredEvents(parts.events);
    this.#done = new Array(upsert.values.length).fill(undefined);
  }

  /** Records that were stored or changed. */
  get written(): number {
    return this.#inserted + this.#updated;
  }

  async run(): Promise<UpsertOutcome> {
    try {
      const records = await this.#run();
      const skipped = records.length - this.written;
      return { records, inserted: this.#inserted, updated: this.#updated, skipped };
    } finally {
      // what was stored before a failure stays
      await this.#events.end();
    }
  }

  async #run(): Promise<readonly string[]> {
    const { space, given, values, onConflict } = this.#upsert;
    // check the right to insert first, or the answer reveals which values exist
    await filledIn(space, values, new Date().toISOString(), this.#signal);
    await collectUniqueValues(space, values, this.#signal);
    // report the problems of all records before anything is stored
    if (onConflict.do === 'update') for (const one of given) this.#changesOf(one);
    for (;;) {
      const left = [...this.#done.keys()].filter((at) => this.#done[at] === undefined);
      if (left.length === 0) return this.#done as readonly string[];
      const stored = await this.#stored(left);
      await this.#insert(left.filter((at) => !stored.has(at)));
      await forEachAtOnce([...stored], atOnce, ([at, row]) => this.#update(at, row));
      // look up a record again that another request stored, changed or deleted meanwhile
      await letOthersRun(this.#signal);
    }
  }

  /** The records that have the values of some of the new ones. */
  async #stored(places: readonly number[]): Promise<ReadonlyMap<number, StoredRow>> {
    const stored = new Map<number, StoredRow>();
    const { space, onConflict } = this.#upsert;
    for (let from = 0; from < places.length; from += atOnce) {
      const some = places.slice(from, from + atOnce).filter((at) => this.#valueAt(at) !== null);
      const wanted = some.map((at) => this.#valueAt(at) as StoredValue);
      const rows = await this.#rowsOf(space, onConflict.field, wanted);
      for (const [index, at] of some.entries()) {
        const row = rows.get(wanted[index] as StoredValue);
        if (row === undefined) continue;
        // the request may not see the record, but learns that the value is taken
        if (!mayTouch(space, onConflict.do === 'skip' ? 'find' : 'update', row))
          throw alreadyStored(new Map(), [onConflict.field.name]);
        stored.set(at, row);
      }
    }
    return stored;
  }

  async #rowsOf(
    space: RecordSpace,
    field: Field,
    values: readonly StoredValue[],
  ): Promise<ReadonlyMap<StoredValue, StoredRow>> {
    const { store } = this.#parts;
    if (!field.keyed)
      return firstByValues(store, { space: unbound(space), target: field }, values, this.#signal);
    const find = (value: StoredValue) => store.lookUp(space, { slot: slotOf(field), value }, this.#signal);
    const rows = await Promise.all(values.map(find));
    return new Map(
      rows.flatMap(([row], index) =>
        row === undefined ? [] : [[values[index] as StoredValue, row] as const],
      ),
    );
  }

  async #insert(places: readonly number[]): Promise<void> {
    if (places.length === 0) return;
    const { space, values } = this.#upsert;
    const records = places.map((at) => values[at] as RecordValues);
    try {
      const stored = await this.#parts.records.store(space, records, this.#signal, undefined, this.#events);
      for (const [index, record] of stored.records.entries()) {
        this.#done[places[index] as number] = newRecordJson(space.structure, record);
      }
      this.#inserted += records.length;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_unique') throw error;
      // the value of another field may be taken
      if ((await this.#stored(places)).size === 0) throw error;
    }
  }

  async #update(at: number, row: StoredRow): Promise<void> {
    const { space, onConflict, given } = this.#upsert;
    const { field } = onConflict;
    const changes = onConflict.do === 'skip' ? new Map() : this.#changesOf(given[at]);
    if (changes.size === 0) {
      this.#done[at] = storedJson(space.structure, row);
      return;
    }
    const plain = [equals(field, this.#valueAt(at) as StoredValue)];
    const conditions = { relationship: 'And', plain, others: [], hashed: [] } as const;
    const { _id: id } = row;
    const stillWanted = () => this.#parts.reader.matches(space, conditions, id, this.#signal);
    const target = { id, stillWanted, events: this.#events };
    const json = await this.#parts.changes.update(space, target, changes, this.#signal);
    if (json === null) return;
    this.#done[at] = json;
    this.#updated++;
  }

  /** The values of a record except the one that finds it. */
  #changesOf(given: unknown) {
    const { space, onConflict } = this.#upsert;
    const changes = new Map(validateChanges(given, space.structure));
    changes.delete(onConflict.field);
    return changes;
  }

  #valueAt(at: number): StoredValue | null {
    const { space, values, onConflict } = this.#upsert;
    return values[at]?.[space.structure.fields.indexOf(onConflict.field)] ?? null;
  }
}
