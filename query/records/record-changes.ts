import type { Hasher } from '#auth/hasher.ts';
import { loginSlot, loginStateOf } from '#auth/login-state.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import { assignmentsOf, filesOfChanges, withFiles } from './changed-files.ts';
import { hasFiles } from './file-fields.ts';
import { findStored } from './find-stored.ts';
import { type Changes, valuesSet } from './input/validate-changes.ts';
import type { RecordValues } from './input/validate-record.ts';
import { mayChange } from './may-change.ts';
import { bothPermits, type FoundFiles, type RecordFiles } from './record-files.ts';
import { withHashes } from './record-inserts.ts';
import { assertWritable } from './ruled.ts';
import { storedJson } from './sql/record-row.ts';
import type { StoredRow } from './sql/stored-row.ts';
import type { Assignment } from './sql/update-sql.ts';
import type {
  ChangeOutcome,
  ChangeStep,
  RecordChange,
  RecordStore,
  RecordWrites,
} from './store/record-store.ts';
import { isIncrement } from './structure/increment.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { recordKey } from './unique/reservation-keys.ts';
import type { Reservation, UniqueReservations } from './unique/unique-reservations.ts';
import { alreadyStored, collectUniqueValues, type UniqueValue } from './unique-values.ts';
import { makeCounts, type Outcome, untouched, type WaitingCount } from './waiting-counts.ts';

/** Increments of one record that wait for its turn. */
interface Counts {
  readonly space: RecordSpace;
  readonly all: WaitingCount[];
  readonly made: Promise<Outcome>;
}

interface UpdateTarget {
  readonly id: string;
  /** Checks again once nobody else can change the record; false: don't change it. */
  readonly stillWanted?: () => Promise<boolean>;
  /** Absent: webhooks are called at once. */
  readonly events?: RecordEvents;
}

/** Increments of one write. */
const countedAtOnce = 1000;
const { signal: never } = new AbortController();
const nobody: RecordEvents = { async publish() {} };
/** Milliseconds that a change waits for other processes before it goes ahead without them. */
const patience = 2000;

interface RecordChangesParts {
  readonly store: RecordStore;
  readonly hasher: Hasher;
  readonly reservations: UniqueReservations;
  readonly writes: RecordWrites;
  readonly files: RecordFiles;
}

/** Changes stored records. Changes of the same record are made one after another. */
export class RecordChanges {
  readonly #parts: RecordChangesParts;
  readonly #lock = new KeyedLock();
  /** Changes of single records share a space; a change of many records locks it exclusively. */
  readonly #spaces = new ReadWriteLock();
  readonly #counts = new Map<string, Counts>();

  constructor(parts: RecordChangesParts) {
    this.#parts = parts;
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
    const { store } = this.#parts;
    assertWritable(space, changes.keys());
    const values = valuesSet(changes, space.structure);
    const unique = await collectUniqueValues(space, [values], signal);
    const files = hasFiles(space.structure)
      ? await filesOfChanges(this.#parts.files, space, { changes, values }, signal)
      : null;
    const assignments = await this.#assignments(space, changes, { values, files }, signal);
    const { id, events } = target;
    const step = { id, assignments };
    const stillWanted =
      space.bound === undefined
        ? target.stillWanted
        : async () =>
            (await mayChange(this.#parts.store, space, [id], assignments, signal)).length > 0 &&
            (target.stillWanted === undefined || (await target.stillWanted()));
    const isPlain = stillWanted === undefined && events === undefined;
    if (store.singleWriter && isPlain && assignments.every(({ value }) => isIncrement(value)))
      return this.#recordOf(space, this.#count(space, step, signal), signal);
    const change = async (): Promise<Outcome> => {
      if (stillWanted !== undefined && !(await stillWanted())) return untouched;
      const reservation = await this.#reserve(space, unique, id, signal);
      let stored: Iterable<string> = [];
      try {
        const permit = reservation?.permit ?? null;
        for (const { hash } of unique.values()) store.keys.add(space.id, hash);
        const change = { space, steps: [step], signal, events };
        const outcome =
          files === null
            ? await this.#commit({ permit, ...change })
            : await withFiles(
                this.#parts.files,
                space,
                { ids: [id], values, files },
                (uses) => this.#commit({ permit: bothPermits(permit, uses), ...change }),
                signal,
              );
        if (outcome.row !== null) stored = unique.keys();
        return outcome;
      } finally {
        await reservation?.settle(stored);
      }
    };
    const work = stillWanted === undefined ? change : () => this.#exclusive(space, [id], change, signal);
    return this.#recordOf(space, this.#inTurn(space, id, work, signal), signal);
  }

  /** Deletes a record and resolves with its last state; null when there is no such record. */
  async remove(space: RecordSpace, id: string, signal: AbortSignal): Promise<string | null> {
    const change = async (): Promise<Outcome> => {
      const ids = await mayChange(this.#parts.store, space, [id], null, signal);
      if (ids.length === 0) return untouched;
      const dropped = hasFiles(space.stored) ? await this.#parts.files.drop(space, ids, signal) : null;
      try {
        return await this.#commit({ space, steps: [{ id, assignments: null }], signal });
      } finally {
        dropped?.();
      }
    };
    const work = () => this.#exclusive(space, [id], change, signal);
    return this.#recordOf(space, this.#inTurn(space, id, work, signal), signal);
  }

  /**
   * Makes the same changes to all records found, all or none; null: removes them. Resolves with their new
   * state, or their last one. No other change to the space's records happens between the search and the change.
   * @param find finds their ids; called again if other processes had to be locked out first
   */
  async changeAll(
    space: RecordSpace,
    find: () => Promise<readonly string[]>,
    changes: Changes | null,
    signal: AbortSignal,
  ): Promise<readonly StoredRow[]> {
    if (changes !== null) assertWritable(space, changes.keys());
    const values = changes === null ? null : valuesSet(changes, space.structure);
    const files =
      values &&
      (await filesOfChanges(this.#parts.files, space, { changes: changes as Changes, values }, signal));
    const assignments =
      values && (await this.#assignments(space, changes as Changes, { values, files }, signal));
    const change = async (found: readonly string[]): Promise<ChangeOutcome> => {
      const ids = await mayChange(this.#parts.store, space, found, assignments, signal);
      if (ids.length === 0) return { rows: [], invalidated: null };
      const steps = ids.map((id) => ({ id, assignments }));
      const make = (permit: WritePermit | null) =>
        this.#parts.writes.change({ space, steps, signal, permit });
      if (values !== null && files === null) return make(null);
      if (values === null && !hasFiles(space.stored)) return make(null);
      return withFiles(this.#parts.files, space, { ids, values, files }, make, signal);
    };
    const work = async (): Promise<ChangeOutcome> => {
      signal.throwIfAborted();
      const ids = await find();
      if (this.#parts.store.singleWriter || ids.length === 0) return change(ids);
      const ours = new Set(ids);
      const stillThere = async () => (await find()).filter((id) => ours.has(id));
      return this.#exclusive(space, ids, async () => change(await stillThere()), signal);
    };
    const { rows, invalidated } = await untilAborted(this.#spaces.exclusive(space.id, work), signal);
    if (invalidated !== null) await untilAborted(invalidated, signal);
    return rows.filter((row) => row !== null);
  }

  /** Changes the login state of a user. Calls no webhook, as no field changes. Does nothing if there is no such record. */
  async changeLogins(
    space: RecordSpace,
    id: string,
    next: (state: string) => string,
    signal: AbortSignal,
  ): Promise<void> {
    const change = async (): Promise<Outcome> => {
      const [row] = await this.#parts.store.lookUp(space, { id }, signal);
      if (row === undefined) return untouched;
      const assignments = [{ slot: loginSlot, value: next(loginStateOf(row)) }];
      return this.#commit({ space, steps: [{ id, assignments }], signal, events: nobody });
    };
    const work = () => this.#exclusive(space, [id], change, signal);
    await this.#recordOf(space, this.#inTurn(space, id, work, signal), signal);
  }

  async #assignments(
    space: RecordSpace,
    changes: Changes,
    { values, files }: { readonly values: RecordValues; readonly files: FoundFiles | null },
    signal: AbortSignal,
  ): Promise<readonly Assignment[]> {
    const [hashed] = await withHashes(this.#parts.hasher, space, [values], signal);
    return assignmentsOf(space, changes, hashed as RecordValues, files?.texts);
  }

  async #commit(change: RecordChange): Promise<Outcome> {
    const { rows, invalidated } = await this.#parts.writes.change(change);
    return { row: rows[0] ?? null, invalidated };
  }

  /** Waiting increments of a record are made together, by one write to the disk. */
  async #count(space: RecordSpace, step: ChangeStep, signal: AbortSignal): Promise<Outcome> {
    const key = recordKey(space, step.id);
    const waiting: WaitingCount = { step, signal, row: null, refusal: null };
    let group = this.#counts.get(key);
    if (group === undefined || group.space !== space || group.all.length === countedAtOnce) {
      const all: WaitingCount[] = [];
      const close = (): void => void (this.#counts.get(key)?.all === all && this.#counts.delete(key));
      const work = async (): Promise<Outcome> => {
        close();
        return makeCounts(
          this.#parts.writes,
          space,
          all.filter((one) => !one.signal.aborted),
        );
      };
      group = { space, all, made: this.#inTurn(space, step.id, work, never).finally(close) };
      this.#counts.set(key, group);
    }
    group.all.push(waiting);
    const { invalidated } = await untilAborted(group.made, signal);
    if (waiting.refusal !== null) throw waiting.refusal;
    return { row: waiting.row, invalidated };
  }

  #inTurn(
    space: RecordSpace,
    id: string,
    work: () => Promise<Outcome>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const shared = () => this.#spaces.whenShared(space.id, signal, work);
    return this.#lock.run(recordKey(space, id), shared, signal);
  }

  /** The answer waits until the write may be acknowledged; the next change of the record does not. */
  async #recordOf(space: RecordSpace, made: Promise<Outcome>, signal: AbortSignal): Promise<string | null> {
    const { row, invalidated } = await made;
    if (invalidated !== null) await untilAborted(invalidated, signal);
    return row === null ? null : storedJson(space.structure, row);
  }

  /**
   * Does the work while other processes with the same reservations can't do such work on the records. Reservations are not
   * required: if Redis can't be reached, or takes too long, the change goes ahead without them.
   */
  async #exclusive<Result>(
    space: RecordSpace,
    ids: readonly string[],
    work: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const keys = ids.map((id) => recordKey(space, id));
    const reserving = this.#parts.reservations.reserve(keys, signal, patience);
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

  /** Reserves the values for this record; null when there are none. */
  async #reserve(
    space: RecordSpace,
    values: ReadonlyMap<string, UniqueValue>,
    id: string,
    signal: AbortSignal,
  ): Promise<Reservation | null> {
    if (values.size === 0) return null;
    for (;;) {
      const result = await this.#parts.reservations.reserve([...values.keys()], signal);
      const finding = findStored(this.#parts.store, space, values, signal, id);
      const taken = await finding.catch(async (error: unknown) => {
        if ('reservation' in result) await result.reservation.settle([]);
        throw error;
      });
      if ('reservation' in result && taken.size === 0) return result.reservation;
      if ('reservation' in result) await result.reservation.settle(taken);
      if (taken.size > 0) throw alreadyStored(values, taken);
      // a value that another write found stored may be stored in this very record
    }
  }
}
