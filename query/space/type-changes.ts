import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kernel/errors/api-error.ts';
import { deadlineExceeded, overloaded, structureConflict } from '#kernel/errors/catalogue.ts';
import { untilAborted } from '#kernel/limits/deadline.ts';
import type { Conversion } from '#records/sql/convert-sql.ts';
import { slotOf } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
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
import { type CatalogueEntry, isAbandoned, isMoving, storedSpace } from './space-catalogue.ts';
import type { SpaceRequest, SpacesParts } from './spaces-deps.ts';
import { agrees } from './structure-view.ts';

export interface TypeChangesParts extends Pick<SpacesParts, 'store' | 'writes' | 'log' | 'freshness'> {
  /**
   * Stores the version of a space that `change` makes of the newest one; null: it stays as it is. Resolves with whether
   * it was stored.
   */
  readonly edit: (
    id: string,
    change: (entry: CatalogueEntry) => Structure | null,
    signal: AbortSignal,
  ) => Promise<boolean>;
  /** Resolves when no process begins anything by an older version. */
  readonly untilHeard: (signal: AbortSignal) => Promise<void>;
}

/** Gets the space as it is while nobody writes to it; null: it is gone. */
type HeldWork<Result> = (entry: CatalogueEntry | null, signal: AbortSignal) => Promise<Result>;

/** A request waits for this before it is tried again. */
export type HeldUp = (signal: AbortSignal) => Promise<void>;

/** The longest change. Milliseconds, as the others. */
const changeLimit = 60_000;
/** How long the writes of this process that began before may take. */
const idleLimit = 10_000;
/** How often a waiting request checks whether another process is done. */
const checkEvery = 200;
const limit = { per: 60_000, limit: 20 };
/** Slots that a space may have left behind. */
const mostRetired = 1000;

/**
 * Changes of the types of stored fields, each in steps that a kill can cut anywhere:
 *
 *   1. a version of the space takes a new slot for the field, and says that its types change: from when every process
 *      has heard of that, nobody writes records of the space
 *   2. the values are copied to the new slot. Reads go on by the old one
 *   3. a version says that the field is of the new type, and in the new slot. Writes go on
 *   4. when no request can read them any more, the values are taken out of the old slot
 *
 * A change that was cut off before step 3 never happened: the next request ends it, and its slot is never used.
 */
export class TypeChanges {
  readonly #deps: TypeChangesParts;
  readonly #limit = new ChangeLimit(limit);
  /** Changes that this process makes, by space. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #checks = new Map<string, Promise<void>>();

  constructor(deps: TypeChangesParts) {
    this.#deps = deps;
  }

  /** The change that a request for a space has to wait for; null: none. It rejects with the request's problems. */
  before(entry: CatalogueEntry, request: SpaceRequest): HeldUp | null {
    const { typeChange } = entry.structure;
    const { structure, headers } = request;
    if (typeChange !== null) {
      if (this.#isLeft(entry)) return (signal) => this.endLeft(entry.id, signal);
      // reads go on as before
      const writes = isMoving(entry.structure) ? request.changes : request.stores;
      const reads = !writes && (structure === null || agrees(entry.structure, structure));
      return reads ? null : this.over(entry.id);
    }
    // the values behind an inferred type may be older than the stored types
    if (structure === null || !headers.mutate || headers.inferStructure) return null;
    const plan = retypedFields(entry.structure, structure);
    if (plan.length === 0) return null;
    return (signal) => this.#run(entry, structure, plan, signal);
  }

  /** Until the change that is under way may be over. */
  over(id: string): HeldUp {
    return (signal) => untilAborted(this.#mayBeOver(id), signal);
  }

  /** Ends a change that a dead process began. Whoever has to wait for the end of changes does this first. */
  async endLeft(id: string, signal: AbortSignal): Promise<void> {
    const end = (now: CatalogueEntry): Structure | null =>
      this.#isLeft(now) ? createStructure({ ...now.structure, typeChange: null }) : null;
    await this.#deps.edit(id, end, signal);
  }

  /**
   * Does work that changes records of a space by statements, while no process writes to it. Rejects with a 503 while another
   * change is under way.
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
      // where this fails, the next request does it
      await this.#cancel(id, change, AbortSignal.timeout(idleLimit)).catch(() => {});
    }
  }

  /** Does work once no process writes to a space whose change has begun. */
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

  #isLeft(entry: CatalogueEntry): boolean {
    return !this.#running.has(entry.id) && isAbandoned(entry, this.#deps.freshness);
  }

  #mayBeOver(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running !== undefined) return running.catch(() => {});
    // all waiting requests share one check
    const next = this.#checks.get(id) ?? sleep(checkEvery).then(() => void this.#checks.delete(id));
    this.#checks.set(id, next);
    return next;
  }

  /** One at a time for each space. A request that finds another change under way checks again when it is over. */
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
      // another one was first: the request checks again
      if (!(await edit(entry.id, begin, own))) return;
      await this.#whenNobodyWrites(args, own);
      const end = (now: CatalogueEntry): Structure | null =>
        now.structure.typeChange === change ? endTypeChange(now.structure, plan) : null;
      if (!(await edit(entry.id, end, own))) throw changing();
    } catch (error) {
      // the next request does the rest
      await this.#cancel(entry.id, change, AbortSignal.timeout(idleLimit)).catch(() => {});
      throw own.aborted ? deadlineExceeded(changeLimit) : error;
    }
    // requests that began before may still read them
    setTimeout(() => void this.#clearOld(args), this.#deps.freshness.outdatedAfter).unref();
  }

  /** Throws a 400 that lists every obstacle, not only those of the types: then nothing is changed. */
  async #check({ entry, requested, plan }: Change, signal: AbortSignal): Promise<void> {
    const { id, structure } = entry;
    const often =
      structure.retiredSlots.length + plan.length > mostRetired
        ? `types of fields of the space were changed ${mostRetired} times`
        : this.#limit.reached(id) && `that was asked ${limit.limit} times within a minute`;
    if (often) throw structureConflict(plan.map((field) => `${refusal(field)}: ${often}`));
    // each reads all records
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

  /** Copies the values. Values that were written since the check are checked as well. */
  async #whenNobodyWrites({ entry, plan }: Change, signal: AbortSignal): Promise<void> {
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

  async #clearOld({ entry: { recordsId }, plan }: Change): Promise<void> {
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
