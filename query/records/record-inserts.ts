import type { Hasher } from '#auth/hasher.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import { hasFiles } from './file-fields.ts';
import { findStored } from './find-stored.ts';
import type { RecordValues } from './input/validate-record.ts';
import { type InsertKey, idsFrom, KeyedInsert } from './keyed-insert.ts';
import { type BegunUses, bothPermits, type RecordFiles } from './record-files.ts';
import type { RecordReader } from './record-reader.ts';
import { filledIn, unbound } from './ruled.ts';
import type { NewRecord } from './sql/new-record.ts';
import type { SlotValue } from './sql/terms.ts';
import {
  type ChangeOutcome,
  type RecordStore,
  type RecordWrites,
  ValuesTaken,
} from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { slotOf } from './structure/slots.ts';
import type { StoredValue } from './types/field-type.ts';
import { firstRecordKey } from './unique/reservation-keys.ts';
import type { Reservation, UniqueReservations } from './unique/unique-reservations.ts';
import { alreadyStored, collectUniqueValues, type UniqueValue } from './unique-values.ts';

/** Up to this many unique values, a request's check shares a statement with other requests. */
const mostWithWrite = 16;

export interface InsertOutcome {
  readonly records: readonly NewRecord[];
  /** An earlier request with the same key stored them. */
  readonly replayed: boolean;
}

/** The check of a record that has to be the first of its space. */
interface FirstRecordCheck {
  readonly key: string;
  readonly isTaken: () => Promise<boolean>;
}

interface HowToStore {
  readonly first?: FirstRecordCheck;
  readonly keyed?: KeyedInsert | undefined;
  readonly events?: RecordEvents | undefined;
}

interface RecordInsertsParts {
  readonly store: RecordStore;
  readonly reader: RecordReader;
  readonly hasher: Hasher;
  readonly reservations: UniqueReservations;
  readonly writes: RecordWrites;
  readonly files: RecordFiles;
  readonly newId: () => string;
  readonly now: () => number;
}

export class RecordInserts {
  readonly #parts: RecordInsertsParts;

  constructor(parts: RecordInsertsParts) {
    this.#parts = parts;
  }

  /**
   * Stores the records of one request, all or none, in their order. Resolves when they are durable and a find sees
   * them; throws a 400 when a value of a unique field is taken.
   * @param key undefined: the request has no `Idempotency-Key`
   * @param events absent: webhooks are called at once
   */
  async store(
    space: RecordSpace,
    records: readonly RecordValues[],
    signal: AbortSignal,
    key: InsertKey | undefined,
    events?: RecordEvents,
  ): Promise<InsertOutcome> {
    const keyed = key && (await KeyedInsert.of(this.#parts, space, { asked: key, signal }));
    return (await this.#storeAll(space, records, signal, { keyed, events })) as InsertOutcome;
  }

  /**
   * Stores a record as the first of its space; null when the space has one by now. If several are stored at once,
   * even by other processes that share reservations, only one becomes the first.
   */
  async storeFirst(space: RecordSpace, record: RecordValues, signal: AbortSignal): Promise<NewRecord | null> {
    const isTaken = async () => (await this.#parts.reader.oldestId(unbound(space), signal)) !== null;
    const first = { key: firstRecordKey(space), isTaken };
    return (await this.#storeAll(space, [record], signal, { first }))?.records[0] ?? null;
  }

  /** @param first absent: there may be other records. Answers null when it was given, and there are */
  async #storeAll(
    space: RecordSpace,
    given: readonly RecordValues[],
    signal: AbortSignal,
    { first, keyed, events }: HowToStore,
  ): Promise<InsertOutcome | null> {
    const { store, hasher, reservations, writes, newId, now } = this.#parts;
    const records =
      space.bound === undefined ? given : await filledIn(space, given, new Date(now()).toISOString(), signal);
    const found = hasFiles(space.structure) ? await this.#parts.files.find(space, records, signal) : null;
    const files = found?.texts;
    const unique = await collectUniqueValues(space, records, signal);
    const hashed = await withHashes(hasher, space, records, signal);
    const values = [...unique.keys(), ...(first === undefined ? [] : [first.key])];
    // reserved first, so that a repeated request waits for the first one, not for its values
    const keys = keyed === undefined ? values : [keyed.reservation, ...values];
    let reservation: Reservation | null = null;
    if (keys.length > 0) {
      const result = await reservations.reserve(keys, signal);
      if ('takenKey' in result) {
        if (result.takenKey === first?.key) return null;
        throw alreadyStored(unique, [result.takenKey]);
      }
      reservation = result.reservation;
    }
    let stored: Iterable<string> = [];
    const settle = async (): Promise<void> => reservation?.settle(stored);
    const made: NewRecord[] = [];
    const make = (createdAt: string, nextId: () => string): Promise<void> =>
      forEachYielding(hashed, (values) => made.push({ id: nextId(), createdAt, values, files }), signal);
    let uses: BegunUses | null = null;
    let outcome: ReturnType<RecordWrites['insert']>;
    try {
      const earlier = keyed === undefined ? null : await keyed.find(signal);
      if (earlier !== null) {
        await settle();
        await make(earlier.createdAt, idsFrom(earlier.firstId));
        return { records: made, replayed: true };
      }
      if (first !== undefined && (await first.isTaken())) {
        await settle();
        return null;
      }
      // where every check is a statement, several inserts share one
      const isWithWrite = !store.singleWriter && unique.size > 0 && unique.size <= mostWithWrite;
      if (unique.size > 0 && !isWithWrite) {
        const taken = await findStored(store, space, unique, signal);
        stored = taken;
        if (taken.size > 0) throw alreadyStored(unique, taken);
      }
      const createdAt = new Date(now()).toISOString();
      await make(createdAt, keyed === undefined ? newId : idsFrom(newId()));
      const keysOfRecords = [...unique.values()];
      await forEachYielding(keysOfRecords, ({ hash }) => store.keys.add(space.id, hash), signal);
      if (found !== null) uses = await this.#parts.files.begin(space, made.map(asNew), found, signal);
      const permit = bothPermits(reservation?.permit, uses?.permit);
      const firstId = (made[0] as NewRecord).id;
      const receipt = keyed?.row({ firstId, createdAt });
      const absent = isWithWrite ? keysOfRecords.map(slotValueIn(space)) : undefined;
      outcome = writes.insert({
        space,
        records: made,
        unique: keysOfRecords,
        absent,
        receipt,
        signal,
        permit,
        events,
      });
    } catch (error) {
      await uses?.end('never');
      await settle();
      throw error;
    }
    // the values stay reserved until the outcome is known, even if the client has disconnected
    const acknowledge = async (): Promise<void> => {
      let invalidated: ChangeOutcome['invalidated'];
      try {
        ({ invalidated } = await outcome);
        stored = values;
        await uses?.end('maybe');
      } catch (error) {
        await uses?.end(error instanceof ValuesTaken ? 'never' : 'maybe');
        if (!(error instanceof ValuesTaken)) throw error;
        const taken = new Set(error.values.map(({ slot, value }) => `${slot} ${value}`));
        const isTaken = ({ field, value }: UniqueValue): boolean => taken.has(`${slotOf(field)} ${value}`);
        stored = [...unique].flatMap(([valueKey, one]) => (isTaken(one) ? valueKey : []));
        throw alreadyStored(unique, stored);
      } finally {
        await settle();
      }
      await invalidated;
    };
    await untilAborted(acknowledge(), signal);
    return { records: made, replayed: false };
  }
}

function asNew({ id, values }: NewRecord) {
  return { id, values, isNew: true } as const;
}

function slotValueIn({ id }: RecordSpace): (unique: UniqueValue) => SlotValue {
  return ({ field, value }) => ({ spaceId: id, slot: slotOf(field), value });
}

/** The records with the values of hashed fields replaced by their hashes. */
export async function withHashes(
  hasher: Hasher,
  { structure: { fields }, ownerId }: Pick<RecordSpace, 'structure' | 'ownerId'>,
  records: readonly RecordValues[],
  signal: AbortSignal,
): Promise<readonly RecordValues[]> {
  if (!fields.some(({ hashed }) => hashed)) return records;
  const indexes = fields.flatMap((field, index) => (field.hashed ? [index] : []));
  const places = records.flatMap((record, row) =>
    indexes.filter((index) => (record[index] ?? null) !== null).map((index) => ({ row, index })),
  );
  const hashes = await hasher.hashValues(
    places.map(({ row, index }) => records[row]?.[index] as StoredValue),
    signal,
    ownerId,
  );
  const result = records.map((record) => [...record]);
  places.forEach(({ row, index }, place) => {
    (result[row] as (StoredValue | null)[])[index] = hashes[place] as string;
  });
  return result;
}
