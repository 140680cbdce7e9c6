import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kernel/errors/api-error.ts';
import { deadlineExceeded, overloaded, structureConflict } from '#kernel/errors/catalogue.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import { slotOf } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import type { Conversion } from '#records/types/field-type.ts';
import { type CatalogueEntry, isAbandoned, isMoving, storedSpace } from './catalogue-entry.ts';
import { addKeys } from './catalogue-versions.ts';
import { ChangeLimit } from './change-limit.ts';
import { checkRetyped, checkSwitchedOn, refusal } from './check-values.ts';
import { mergeStructure } from './merge-structure.ts';
import { clearSlot } from './removals.ts';
import {
  beginTypeChange,
  endTypeChange,
  type RetypedField,
  retypedFields,
  withStoredTypes,
} from './retyped-fields.ts';
import type { SpaceRequest, SpacesParts } from './spaces-deps.ts';
import { agrees } from './structure-view.ts';

export interface TypeChangesParts extends Pick<SpacesParts, 'store' | 'writes' | 'log' | 'freshness'> {
  /**
   * Stores the version that `change` makes of a space's newest one; null: the space stays as it is. Resolves with whether a
   * version was stored.
   */
  readonly edit: (
    id: string,
    change: (entry: CatalogueEntry) => Structure | null,
    signal: AbortSignal,
  ) => Promise<boolean>;
  /** Resolves when no process starts anything with an older version. */
  readonly untilHeard: (signal: AbortSignal) => Promise<void>;
}

/** Work while nobody writes to a space. The entry is null if the space does not exist. */
type HeldWork<Result> = (entry: CatalogueEntry | null, signal: AbortSignal) => Promise<Result>;

/** Waits until a request may be tried again. */
export type ChangeWait = (signal: AbortSignal) => Promise<void>;

/** The longest change, in milliseconds like the others. */
const changeLimit = 60_000;
/** How long earlier writes of this process may take. */
const idleLimit = 10_000;
/** How often a waiting request checks whether another process is done. */
const checkEvery = 200;
const limit = { per: 60_000, limit: 20 };
/** Most retired slots of a space. */
const mostRetired = 1000;

/**
 * Changes types of stored fields, in steps that a kill may interrupt anywhere:
 *
 *   1. a version of the space reserves a new slot for the field, and says that its types are changing: once every process
 *      has heard of it, nobody writes records of the space
 *   2. the values are copied to the new slot, while reads use the old one
 *   3. a version says that the field has the new type and the new slot, and writes continue
 *   4. once no request can read the old values, they are removed
 *
 * A change that is interrupted before step 3 never happened: the next request ends it, and its slot is never used.
 */
export class TypeChanges {
  readonly #deps: TypeChangesParts;
  readonly #limit = new ChangeLimit(limit);
  /** Changes that this process is making, by space. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #checks = new Map<string, Promise<void>>();

  constructor(deps: TypeChangesParts) {
    this.#deps = deps;
  }

  /** The change that a request must wait for; null: none. It rejects with the request's problems. */
  before(entry: CatalogueEntry, request: SpaceRequest): ChangeWait | null {
    const { typeChange } = entry.structure;
    const { structure, headers } = request;
    if (typeChange !== null) {
      if (this.#isAbandoned(entry)) return (signal) => this.endLeft(entry.id, signal);
      // reads continue as before
      const writes = isMoving(entry.structure) ? request.changes : request.stores;
      const reads = !writes && (structure === null || agrees(entry.structure, structure));
      return reads ? null : this.over(entry.id);
    }
    // an inferred type must not change a stored one, which may be newer than the values that it is inferred from
    if (structure === null || !headers.mutate || headers.inferStructure) return null;
    const plan = retypedFields(entry.structure, structure);
    if (plan.length === 0) return null;
    return (signal) => this.#run(entry, structure, plan, signal);
  }

  /** Waits until the running change may have ended. */
  over(id: string): ChangeWait {
    return (signal) => untilAborted(this.#nextCheck(id), signal);
  }

  /** Ends a change that a dead process began. Called before any wait for the end of changes. */
  async endLeft(id: string, signal: AbortSignal): Promise<void> {
    const end = (now: CatalogueEntry): Structure | null =>
      this.#isAbandoned(now) ? createStructure({ ...now.structure, typeChange: null }) : null;
    await this.#deps.edit(id, end, signal);
  }

  /**
   * Runs work that changes records of a space by statements, while no process writes to it. Rejects with a 503 while another
   * change is running.
   */
  async hold<Result>(id: string, work: HeldWork<Result>): Promise<Result> {
    if (this.#running.has(id)) throw changing();
    const held = this.#hold(id, work).finally(() => this.#running.delete(id));
    this.#running.set(
      id,
      held.then(
        () => {},
        () => {},
      ),
    );
    return held;
  }

  async #hold<Result>(id: string, work: HeldWork<Result>): Promise<Result> {
    const { edit } = this.#deps;
    const own = AbortSignal.timeout(changeLimit);
    const change = randomUUID();
    let entry = null as CatalogueEntry | null;
    const begin = (now: CatalogueEntry): Structure | null => {
      entry = now;
      const isFree = now.structure.typeChange === null || isAbandoned(now, this.#deps.freshness);
      return isFree ? createStructure({ ...now.structure, typeChange: change }) : null;
    };
    const isHeld = await edit(id, begin, own);
    if (entry === null) return work(null, own);
    if (!isHeld) throw changing();
    try {
      return await this.#exclusive(entry.recordsId, () => work(entry, own), own);
    } finally {
      // if this fails, the next request does it
      await this.#cancel(id, change, AbortSignal.timeout(idleLimit)).catch(() => {});
    }
  }

  /** Runs work once no process writes to a space whose change has begun. */
  async #exclusive<Result>(
    recordsId: string,
    work: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const { store, writes, untilHeard } = this.#deps;
    await writes.idle(recordsId, idleLimit);
    await untilHeard(signal);
    return store.rewrite(recordsId, work);
  }

  #isAbandoned(entry: CatalogueEntry): boolean {
    return !this.#running.has(entry.id) && isAbandoned(entry, this.#deps.freshness);
  }

  #nextCheck(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) return running.catch(() => {});
    // all waiting requests share one check
    const next = this.#checks.get(id) ?? sleep(checkEvery).then(() => void this.#checks.delete(id));
    this.#checks.set(id, next);
    return next;
  }

  /** One at a time for each space. A request that finds another change running checks again when it has ended. */
  #run(
    entry: CatalogueEntry,
    requested: Structure,
    plan: readonly RetypedField[],
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#running.has(entry.id)) return this.over(entry.id)(signal);
    const change = randomUUID();
    const running = this.#change({ entry, requested, plan, change }).finally(() =>
      this.#running.delete(entry.id),
    );
    this.#running.set(entry.id, running);
    return untilAborted(running, signal);
  }

  async #change(args: Change): Promise<void> {
    const own = AbortSignal.timeout(changeLimit);
    const { entry, plan, change } = args;
    const { edit } = this.#deps;
    await this.#check(args, own);
    const begin = (now: CatalogueEntry): Structure | null =>
      now.version === entry.version ? beginTypeChange(now.structure, plan, change) : null;
    try {
      // another request was first: this one checks again
      if (!(await edit(entry.id, begin, own))) return;
      await this.#copyValues(args, own);
      const end = (now: CatalogueEntry): Structure | null =>
        now.structure.typeChange === change ? endTypeChange(now.structure, plan) : null;
      if (!(await edit(entry.id, end, own))) throw changing();
    } catch (error) {
      // the next request does the rest
      await this.#cancel(entry.id, change, AbortSignal.timeout(idleLimit)).catch(() => {});
      throw own.aborted ? deadlineExceeded(changeLimit) : error;
    }
    // earlier requests may still read the old values
    setTimeout(() => void this.#clearOldSlots(args), this.#deps.freshness.outdatedAfter).unref();
  }

  /** Throws a 400 that lists every problem, not only those of the types, before anything is changed. */
  async #check({ entry, requested, plan }: Change, signal: AbortSignal): Promise<void> {
    const { id, structure } = entry;
    const often =
      structure.retiredSlots.length + plan.length > mostRetired
        ? `types of fields of the space were changed ${mostRetired} times`
        : this.#limit.reached(id) && `that was requested ${limit.limit} times within a minute`;
    if (often) throw structureConflict(plan.map((field) => `${refusal(field)}: ${often}`));
    // each check reads all records
    this.#limit.note(id);
    const problems = [...(await this.#misfits({ entry, plan }, signal)).problems];
    try {
      const after = mergeStructure(structure, withStoredTypes(requested, structure), true);
      await checkSwitchedOn(this.#deps.store, { space: storedSpace(entry), after }, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error;
      problems.push(...error.problems);
    }
    if (problems.length > 0) throw structureConflict(problems);
  }

  #misfits({ entry, plan }: Pick<Change, 'entry' | 'plan'>, signal: AbortSignal) {
    const { recordsId: id, ownerId, structure } = entry;
    // without a login nobody sees a value of a space that requires one
    const showsValue = structure.auth?.active !== true;
    return checkRetyped(this.#deps.store, { id, ownerId, showsValue }, plan, signal);
  }

  /** Copies the values. Checks again, as values may have been written since the check. */
  async #copyValues({ entry, plan }: Change, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    const { db, table } = store;
    const { recordsId } = entry;
    const convert = async (): Promise<void> => {
      const { problems, values, conversions } = await this.#misfits({ entry, plan }, signal);
      if (problems.length > 0) throw structureConflict(problems);
      for (const [index, { from, to }] of plan.entries()) {
        if (values[index] === 0) continue;
        const slots = { from: slotOf(from), to: slotOf(to) };
        const conversion = conversions[index] as Conversion;
        await db.command({ ...table.convertSlot(recordsId, { ...slots, conversion }), signal });
        await addKeys(store, recordsId, slots.to, signal);
      }
    };
    await this.#exclusive(recordsId, convert, signal);
  }

  async #clearOldSlots({ entry: { recordsId }, plan }: Change): Promise<void> {
    for (const { from } of plan) await clearSlot(this.#deps, { recordsId, slot: slotOf(from) });
  }

  async #cancel(id: string, change: string, signal: AbortSignal): Promise<void> {
    const cancel = ({ structure }: CatalogueEntry): Structure | null =>
      structure.typeChange === change ? createStructure({ ...structure, typeChange: null }) : null;
    await this.#deps.edit(id, cancel, signal);
  }
}

interface Change {
  readonly entry: CatalogueEntry;
  readonly requested: Structure;
  readonly plan: readonly RetypedField[];
  readonly change: string;
}

function changing(): ApiError {
  return overloaded('the structure of the record space is being changed');
}
