import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../common/clickhouse/database.ts';
import {
  deadlineExceeded,
  overloaded,
  projectNotFound,
  recordSpaceNotFound,
  tooManySpaces,
} from '../../common/errors/catalogue.ts';
import type { Invalidation } from '../../common/invalidation/invalidation.ts';
import { CountLimit } from '../../common/limits/count-limit.ts';
import { KeyedLock } from '../../common/limits/keyed-lock.ts';
import type { Hasher } from '../../common/login/hasher.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import { uuidV5 } from '../../common/metadata/uuid-v5.ts';
import { CacheCounts } from '../../common/metrics/cache-counts.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import type { RecordHeaders } from '../input/record-headers.ts';
import type { BeginWrite } from '../records/begin-write.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { assignSlots, slotOf } from '../structure/slots.ts';
import { createStructure, type SpacePath, type Structure, structureText } from '../structure/structure.ts';
import type { KeyFilter } from '../unique/key-filter.ts';
import { ChangeLimit } from './change-limit.ts';
import { checkSwitchedOn, switchedOn } from './check-switched-on.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import {
  areToBeStored,
  begun,
  isEmpty,
  prepareInitialRecords,
  storeInitialRecords,
} from './initial-records.ts';
import { KnownSpaces, type Look } from './known-spaces.ts';
import { mergeStructure } from './merge-structure.ts';
import type { CatalogueEntry, SpaceCatalogue } from './space-catalogue.ts';
import { generationOf, recordsIdOf } from './space-generation.ts';
import { agrees, agreesOnAuth } from './structure-view.ts';

export interface SpaceRequest extends SpacePath {
  readonly ownerId: string;
  /** Null: the stored structure is to be used. */
  readonly structure: Structure | null;
  readonly headers: RecordHeaders;
  /** Whether a space that does not exist is made; one that begins with records always is. */
  readonly makes: boolean;
  /** Called with the space's id in the moment in which it is decided which structure counts. */
  readonly onOpened?: (spaceId: string) => void;
}

/** A field that a space had. */
export interface DroppedField {
  readonly recordsId: string;
  readonly slot: string;
}

/** Milliseconds: a structure older than `freshFor` is looked up again, and one older than `staleAfter` is not used. */
export interface Freshness {
  readonly freshFor: number;
  readonly staleAfter: number;
}

export interface SpacesDeps {
  readonly db: Database;
  readonly table: RecordsTable;
  readonly projects: Projects;
  readonly catalogue: SpaceCatalogue;
  readonly hasher: Hasher;
  readonly newId: () => string;
  readonly writes: InFlightWrites;
  /** Whether no other process has this store. */
  readonly alone: boolean;
  /** That an account may have. */
  readonly maxSpaces: number;
  /** Absent: what docs/api.md promises. */
  readonly freshness?: Freshness;
  /** Tells other processes of changes; absent: they find out by themselves when what they know is stale. */
  readonly invalidation?: Invalidation | undefined;
  readonly beginWrite: BeginWrite;
  /** Absent: nobody measures. */
  readonly metrics?: Pick<Metrics, 'cache'>;
  /** Absent: other processes write to the store as well. */
  readonly keyFilter?: KeyFilter | undefined;
}

/** A space is made for all who wait, so the work has a deadline of its own. Milliseconds, as the others. */
const deadline = 30_000;
/** How long the writes that began before a rule was switched on may take. */
const idleLimit = 10_000;
const keptIds = 20_000;
/** After this no process writes by a structure that was replaced. */
const outdatedAfter = 120_000;
/** Others were first so often that something is wrong. */
const attempts = 20;
const usualFreshness: Freshness = { freshFor: 5_000, staleAfter: 10_000 };
/** Nobody else changes the catalogue. */
const alwaysFresh: Freshness = { freshFor: Number.POSITIVE_INFINITY, staleAfter: Number.POSITIVE_INFINITY };
/** After this nothing is used that was invalidated (common/invalidation/), also by who did not hear of it. */
const heardAfter = 1_000;
/** How often a space may go back to a structure that it had before; then the stricter rules stay. */
const returnLimit = { per: 60_000, limit: 20 };

/** Finds, makes and changes record spaces: each is a row of the catalogue. */
export class Spaces {
  readonly #deps: SpacesDeps;
  readonly #known: KnownSpaces;
  readonly #counts: CacheCounts;
  readonly #returns = new ChangeLimit(returnLimit);
  readonly #lock = new KeyedLock();
  readonly #limit: CountLimit;
  readonly #refreshing = new Set<string>();
  /** Of spaces that were asked for: a hash of a path takes longer than the rest of a hit. */
  readonly #ids = new LRUCache<string, string>({ max: keptIds });

  constructor(deps: SpacesDeps) {
    this.#deps = deps;
    this.#counts = deps.metrics?.cache('spaces') ?? new CacheCounts();
    this.#limit = new CountLimit({
      limit: deps.maxSpaces,
      count: (ownerId, signal) => deps.catalogue.countOfOwner(ownerId, signal),
      full: tooManySpaces,
    });
    this.#known = new KnownSpaces({
      ...(deps.freshness ?? (deps.alone ? alwaysFresh : usualFreshness)),
      invalidation: deps.invalidation,
    });
  }

  /** A space that was opened with this structure before; null: it has to be resolved. */
  resolveKnown(request: SpaceRequest): RecordSpace | null {
    const id = this.#idOf(request);
    const space = this.#counts.count(this.#seen(id, request));
    if (space === null) return null;
    request.onOpened?.(space.id);
    this.#keepFresh(id);
    return space;
  }

  /** Finds, makes or changes a space as the request's headers allow. Throws 404 and 400 otherwise. */
  async resolve(request: SpaceRequest, signal: AbortSignal): Promise<RecordSpace> {
    const known = this.resolveKnown(request);
    if (known !== null) return known;
    const { onOpened } = request;
    const id = this.#idOf(request);
    const { began } = this.#known.look();
    const work = async (own: AbortSignal): Promise<RecordSpace> => {
      const opened = await this.#open(id, request, began, own);
      onOpened?.(opened.id);
      return opened;
    };
    return this.#locked(id, work, signal);
  }

  /** A space with its stored structure; null when it does not exist. */
  async find(id: string, signal: AbortSignal): Promise<RecordSpace | null> {
    const space = this.#known.lastStored(id);
    if (space === null) {
      const { began } = this.#known.look();
      return this.#locked(
        id,
        async (own) => this.#known.lastStored(id, began) ?? this.#look(id, own),
        signal,
      );
    }
    this.#keepFresh(id);
    return space;
  }

  /**
   * Takes a space out of the catalogue. This process finds its records no more, others do not after `untilHeard`, and
   * they are not deleted yet. Null: there is none.
   */
  async drop(id: string, signal: AbortSignal): Promise<CatalogueEntry | null> {
    const { catalogue, invalidation, beginWrite } = this.#deps;
    return this.#locked(
      id,
      async (own) => {
        const found = await catalogue.find(id, own);
        for (let entry = found; entry !== null; entry = await catalogue.find(id, own)) {
          // somebody else dropped the one that was meant, and made another
          if (generationOf(entry.version) !== generationOf(found?.version ?? 0)) break;
          if (await catalogue.drop(entry, own)) break;
        }
        this.#known.forget(id);
        if (found !== null) {
          this.#limit.removed(found.ownerId);
          await Promise.all([
            invalidation?.publish(id),
            beginWrite(found.recordsId, null).then((end) => end()),
          ]);
        }
        return found;
      },
      signal,
    );
  }

  /**
   * Drops a field of the stored structure. Its slot is given to no other field, so that a value that a write brings
   * which began before is seen by nobody. Null: there is no such space, or field.
   */
  async dropField(id: string, name: string, signal: AbortSignal): Promise<DroppedField | null> {
    const { catalogue } = this.#deps;
    const work = async (own: AbortSignal): Promise<DroppedField | null> => {
      for (let attempt = 0; attempt < attempts; attempt++) {
        const entry = await catalogue.find(id, own);
        const field = entry?.structure.lookup.get(name);
        if (entry === null || field === undefined) return null;
        const slot = slotOf(field);
        const structure = createStructure({
          ...entry.structure,
          fields: entry.structure.fields.filter((other) => other !== field),
          retiredSlots: [...entry.structure.retiredSlots, slot],
        });
        const next = { ...entry, structure, version: entry.version + 1, updatedAt: new Date() };
        // structures that it took in before have the field
        this.#known.forget(id);
        if ((await this.#store(next, own)) !== null) return { recordsId: entry.recordsId, slot };
      }
      throw overloaded('the structure of the record space is being changed by many');
    };
    return this.#locked(id, work, signal);
  }

  /** Resolves when no process begins anything with what was changed before. */
  async untilHeard(signal: AbortSignal): Promise<void> {
    const { alone, invalidation, freshness } = this.#deps;
    if (alone) return;
    const { staleAfter } = freshness ?? usualFreshness;
    const time = invalidation === undefined ? staleAfter : Math.min(staleAfter, heardAfter);
    await sleep(time, undefined, { signal });
  }

  #idOf({ ownerId, projectSlug, slug }: SpaceRequest): string {
    // slugs have no slash
    const path = `${ownerId}/${projectSlug}/${slug}`;
    const known = this.#ids.get(path);
    if (known !== undefined) return known;
    const id = uuidV5(ownerId, projectSlug, slug);
    this.#ids.set(path, id);
    return id;
  }

  /** A space that needs no look at the catalogue. */
  #seen(id: string, { structure, headers }: SpaceRequest, since?: number): RecordSpace | null {
    return structure === null
      ? this.#known.stored(id, since)
      : this.#known.view(id, structure, headers.mutate, since);
  }

  /** @param since when the request came: those that wait in line share the look of the first */
  async #open(id: string, request: SpaceRequest, since: number, signal: AbortSignal): Promise<RecordSpace> {
    const again = this.#known.needsLook(id) ? null : this.#seen(id, request, since);
    if (again !== null) return again;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const look = this.#known.look();
      const found = await this.#findEntry(id, request, signal);
      if (found.entry === null && !request.makes && request.structure?.initialData.length === 0)
        return missingSpace(id, request, request.structure);
      const entry = found.entry ?? (await this.#create(id, request, found.version, signal));
      if (entry === null) continue;
      const stored = await this.#remember(entry, look, signal);
      const space = await this.#reconcile(entry, stored, request, signal);
      if (space !== null) return space;
    }
    throw overloaded('the structure of the record space is being changed by many');
  }

  async #findEntry(
    id: string,
    { ownerId, projectSlug, slug, structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): ReturnType<SpaceCatalogue['look']> {
    const { projects, catalogue } = this.#deps;
    const project = await projects.find(ownerId, projectSlug, signal);
    if (project === null && !headers.autoCreateProject) throw projectNotFound(projectSlug);
    const found = await catalogue.look(id, signal);
    if (found.entry !== null) return found;
    if (structure === null) throw recordSpaceNotFound(slug, ', so it has no stored structure to use');
    if (!headers.autoCreateRecordSpace) {
      throw recordSpaceNotFound(slug, ', and auto-create-record-space is false');
    }
    return found;
  }

  /** Makes a space, unless another process is first. @param last version: not 0 when it was dropped before */
  async #create(
    id: string,
    { ownerId, projectSlug, structure: requested }: SpaceRequest,
    last: number,
    signal: AbortSignal,
  ): Promise<CatalogueEntry | null> {
    await this.#limit.admit(ownerId, signal);
    const declared = requested as Structure;
    const structure = createStructure({ ...declared, fields: assignSlots(declared.fields, []) });
    const projectId = uuidV5(ownerId, projectSlug);
    const version = last + 1;
    const recordsId = recordsIdOf(id, version);
    const space = { id: recordsId, catalogueId: id, ownerId, projectId, structure, stored: structure };
    const initialRecords = await prepareInitialRecords(this.#deps, space, signal);
    await this.#deps.projects.ensure(ownerId, projectSlug, signal);
    const now = new Date();
    const entry = {
      ...{ id, recordsId, ownerId, projectId, structure },
      ...{ version, initialRecords, createdAt: now, updatedAt: now },
    };
    return (await this.#deps.catalogue.store(entry, signal)) ? entry : null;
  }

  /** Initial records are stored by any request that finds them missing: only then is the space used. */
  async #remember(found: CatalogueEntry, look: Look, signal: AbortSignal): Promise<RecordSpace> {
    let entry = found;
    const { id: catalogueId, recordsId: id, ownerId, projectId, structure } = entry;
    const space = { id, catalogueId, ownerId, projectId, structure, stored: structure };
    if (areToBeStored(entry.initialRecords) && this.#known.versionOf(catalogueId) !== entry.version) {
      const end = await this.#deps.beginWrite(id, null);
      await storeInitialRecords(this.#deps, space, entry.initialRecords, signal).finally(() => end());
      const after = { ...entry, version: entry.version + 1, initialRecords: begun };
      if (await this.#deps.catalogue.store(after, signal)) entry = after;
    }
    return this.#known.remember(space, entry.version, look);
  }

  /** The space as the request sees it; null when another process changed it meanwhile. */
  async #reconcile(
    entry: CatalogueEntry,
    stored: RecordSpace,
    { structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    if (structure === null) return stored;
    const { mutate } = headers;
    const again = this.#known.hasMerged(entry.id, structure);
    const settled = again && (agrees(entry.structure, structure) || this.#keepsStrict(entry, structure));
    const merged = settled ? entry.structure : mergeStructure(entry.structure, structure, mutate);
    const begins = mutate && structure.initialData.length > 0 && entry.initialRecords === '';
    const same = settled || structureText(merged) === structureText(entry.structure);
    if (same && !begins) return this.#known.addView(stored, structure, mutate);
    if (again && !same) this.#returns.note(entry.id);
    const version = (this.#known.versionOf(entry.id) ?? entry.version) + 1;
    const initialRecords = begins
      ? await this.#begin(stored, merged, structure, signal)
      : entry.initialRecords && begun;
    const next = { ...entry, structure: merged, version, initialRecords, updatedAt: new Date() };
    const changed = await this.#whenRulesHold(stored, merged, () => this.#store(next, signal), signal);
    return changed === null ? null : this.#known.addView(changed, structure, mutate);
  }

  /** What a space that exists begins with: the first request that names records decides, and they are for an empty one. */
  async #begin(
    space: RecordSpace,
    merged: Structure,
    { initialData }: Structure,
    signal: AbortSignal,
  ): Promise<string> {
    if (!(await isEmpty(this.#deps, space, signal))) return begun;
    const structure = createStructure({ ...merged, initialData });
    return prepareInitialRecords(this.#deps, { ...space, structure }, signal);
  }

  /** Stores a version that follows the one that is known; null when another process was first. */
  async #store(entry: CatalogueEntry, signal: AbortSignal): Promise<RecordSpace | null> {
    const { alone, catalogue, invalidation, beginWrite } = this.#deps;
    const look = this.#known.look();
    const next = alone ? await this.#withKeys(entry, signal) : entry;
    if (!(await catalogue.store(next, signal))) return null;
    await Promise.all([
      invalidation?.publish(entry.id),
      beginWrite(entry.recordsId, null).then((end) => end()),
    ]);
    return this.#remember(next, look, signal);
  }

  /**
   * The entry with keys for all stored values of its unique fields. Only when nobody writes by a structure in which
   * a field was not unique yet: its values would have no keys.
   */
  async #withKeys(entry: CatalogueEntry, signal: AbortSignal): Promise<CatalogueEntry> {
    const { db, table } = this.#deps;
    const fields = [];
    for (const field of entry.structure.fields) {
      const needsKeys = field.unique && !field.keyed;
      if (needsKeys) {
        await db.command({ ...table.addKeys(entry.recordsId, field.slot as string), signal });
        await this.#deps.keyFilter?.addSpace(entry.recordsId, this.#deps);
      }
      fields.push(needsKeys ? { ...field, keyed: true } : field);
    }
    return { ...entry, structure: createStructure({ ...entry.structure, fields }) };
  }

  /** Whether a structure that differs from the stored one is left at that: it would only lift rules, once too often. */
  #keepsStrict({ id, structure: stored }: CatalogueEntry, requested: Structure): boolean {
    return (
      this.#returns.reached(id) &&
      (requested.auth?.active !== true || agreesOnAuth(stored, requested)) &&
      !bringsRules(stored, requested)
    );
  }

  /** Makes a change, with nobody writing meanwhile when it brings rules that stored records must obey. */
  async #whenRulesHold(
    space: RecordSpace,
    after: Structure,
    change: () => Promise<RecordSpace | null>,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> {
    if (!bringsRules(space.stored, after)) return change();
    return this.#known.whileClosed(space.catalogueId, async () => {
      await this.#deps.writes.idle(space.id, idleLimit);
      await checkSwitchedOn(this.#deps, { space, after }, signal);
      return change();
    });
  }

  async #look(id: string, signal: AbortSignal): Promise<RecordSpace | null> {
    const look = this.#known.look();
    const entry = await this.#deps.catalogue.find(id, signal);
    if (entry === null) {
      this.#known.forget(id);
      return null;
    }
    const known = await this.#remember(entry, look, signal);
    const lacksKeys = entry.structure.fields.some(({ unique, keyed }) => unique && !keyed);
    if (!lacksKeys || Date.now() - entry.updatedAt.getTime() < outdatedAfter) return known;
    // by now every process knows of the unique field, and writes its keys
    const keyed = await this.#withKeys({ ...entry, version: entry.version + 1 }, signal);
    return (await this.#store(keyed, signal)) ?? known;
  }

  /** Looks a space up again when it is time, for those who come after. */
  #keepFresh(id: string): void {
    if (!this.#known.needsLook(id) || this.#refreshing.has(id)) return;
    this.#refreshing.add(id);
    // what fails here fails again, and then for a request that hears of it
    this.#locked(id, (own) => this.#look(id, own), AbortSignal.timeout(deadline))
      .catch(() => {})
      .finally(() => this.#refreshing.delete(id));
  }

  #locked<Result>(
    id: string,
    work: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    return this.#lock.run(id, () => withDeadline(work), signal);
  }
}

/** As it would be if it were made now. */
function missingSpace(id: string, { ownerId, projectSlug }: SpaceRequest, declared: Structure): RecordSpace {
  const structure = createStructure({ ...declared, fields: assignSlots(declared.fields, []) });
  const projectId = uuidV5(ownerId, projectSlug);
  return { id, catalogueId: id, ownerId, projectId, structure, stored: structure, missing: true };
}

function bringsRules(before: Structure, after: Structure): boolean {
  return switchedOn(before, after, 'required').length + switchedOn(before, after, 'unique').length > 0;
}

async function withDeadline<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const signal = AbortSignal.timeout(deadline);
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted ? deadlineExceeded(deadline) : error;
  }
}
