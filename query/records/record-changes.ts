import { untilAborted } from '../../common/abort/until-aborted.ts';
import { ApiError } from '../../common/errors/api-error.ts';
import { KeyedLock } from '../../common/limits/keyed-lock.ts';
import type { Hasher } from '../../common/login/hasher.ts';
import { type Changes, valuesSet } from '../input/validate-changes.ts';
import type { RecordValues } from '../input/validate-record.ts';
import { storedJson } from '../sql/record-row.ts';
import type { Assignment } from '../sql/update-sql.ts';
import type { RecordChange, RecordStore, RecordWrites } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { isIncrement } from '../structure/increment.ts';
import { slotOf } from '../structure/slots.ts';
import { recordKey } from '../unique/reservation-keys.ts';
import type { Reservation, UniqueReservations } from '../unique/unique-reservations.ts';
import { findStored } from './find-stored.ts';
import { withHashes } from './insert-records.ts';
import { alreadyStored, collectUniqueValues, type UniqueValue } from './unique-values.ts';

/** What a change did. */
interface Outcome {
  readonly record: string | null;
  /** Resolves when nobody goes by the space's older version. */
  readonly told: Promise<void>;
}

export interface UpdateTarget {
  readonly id: string;
  /** Looks again when nobody else can change the record any more; false: leave it alone. */
  readonly stillWanted?: () => Promise<boolean>;
}

const untouched: Outcome = { record: null, told: Promise.resolve() };

/** Milliseconds that a change waits for other processes before it is made without them. */
const patience = 2000;

export interface RecordChangesDeps {
  readonly store: RecordStore;
  readonly hasher: Hasher;
  readonly reservations: UniqueReservations;
  readonly writes: RecordWrites;
}

/** Changes of stored records. Those of one record are made one after the other. */
export class RecordChanges {
  readonly #deps: RecordChangesDeps;
  readonly #lock = new KeyedLock();

  constructor(deps: RecordChangesDeps) {
    this.#deps = deps;
  }

  /**
   * Sets the fields that `changes` names. Resolves when that is durable and a find sees it, with the record's JSON
   * text; null when there is no such record. Throws a 400 when a value of a unique field is taken.
   */
  async update(
    space: RecordSpace,
    target: UpdateTarget,
    changes: Changes,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { hasher, store } = this.#deps;
    const row = valuesSet(changes, space.structure);
    const unique = await collectUniqueValues(space, [row], signal);
    const [hashed] = await withHashes(hasher, space, [row], signal);
    const assignments = assignmentsOf(space, changes, hashed as RecordValues);
    const { id, stillWanted } = target;
    const change = async (): Promise<Outcome> => {
      if (stillWanted !== undefined && !(await stillWanted())) return untouched;
      const reservation = await this.#reserve(space, unique, id, signal);
      let stored: Iterable<string> = [];
      try {
        const permit = reservation?.permit ?? null;
        for (const { hash } of unique.values()) store.keys.add(space.id, hash);
        const outcome = await this.#commit(space, { space, id, assignments, signal, permit });
        if (outcome.record !== null) stored = unique.keys();
        return outcome;
      } finally {
        await reservation?.settle(stored);
      }
    };
    const work = stillWanted === undefined ? change : () => this.#alone(space, id, change, signal);
    return this.#inTurn(space, id, work, signal);
  }

  /** Deletes a record and resolves with what it was; null when there is no such record. */
  async remove(space: RecordSpace, id: string, signal: AbortSignal): Promise<string | null> {
    const change = (): Promise<Outcome> => this.#commit(space, { space, id, assignments: null, signal });
    return this.#inTurn(space, id, () => this.#alone(space, id, change, signal), signal);
  }

  async #commit(space: RecordSpace, change: RecordChange): Promise<Outcome> {
    const { row, told } = await this.#deps.writes.change(change);
    return { record: row === null ? null : storedJson(space.structure, row), told };
  }

  /** Does the work in the record's turn. The next one does not wait until others are told; the answer does. */
  async #inTurn(
    space: RecordSpace,
    id: string,
    work: () => Promise<Outcome>,
    signal: AbortSignal,
  ): Promise<string | null> {
    const { record, told } = await this.#lock.run(recordKey(space, id), work, signal);
    await untilAborted(told, signal);
    return record;
  }

  /**
   * Does the work while no other process does such work on the record, where they share reservations. A record can be
   * changed without them: when they can't be asked, or take too long, processes are not kept apart.
   */
  async #alone<Result>(
    space: RecordSpace,
    id: string,
    work: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const reserving = this.#deps.reservations.reserve([recordKey(space, id)], signal, patience);
    const reserved = await reserving.catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 503) throw error;
      return null;
    });
    try {
      return await work();
    } finally {
      if (reserved !== null && 'reservation' in reserved) await reserved.reservation.settle([]);
    }
  }

  /** Takes the values for this record; null when there are none. */
  async #reserve(
    space: RecordSpace,
    values: ReadonlyMap<string, UniqueValue>,
    id: string,
    signal: AbortSignal,
  ): Promise<Reservation | null> {
    if (values.size === 0) return null;
    for (;;) {
      const result = await this.#deps.reservations.reserve([...values.keys()], signal);
      const finding = findStored(this.#deps.store, space, values, signal, id);
      const taken = await finding.catch(async (error: unknown) => {
        if ('reservation' in result) await result.reservation.settle([]);
        throw error;
      });
      if ('reservation' in result && taken.size === 0) return result.reservation;
      if ('reservation' in result) await result.reservation.settle(taken);
      if (taken.size > 0) throw alreadyStored(values, taken);
      // what another write found to be stored is stored in this very record
    }
  }
}

/** In the order of their slots, so that requests that name the same slots share statements. */
function assignmentsOf(
  { structure }: RecordSpace,
  changes: Changes,
  values: RecordValues,
): readonly Assignment[] {
  return structure.fields
    .flatMap((field, index) => {
      const wanted = changes.get(field);
      if (wanted === undefined) return [];
      return [{ slot: slotOf(field), value: isIncrement(wanted) ? wanted : (values[index] ?? null) }];
    })
    .sort((a, b) => (a.slot < b.slot ? -1 : 1));
}
