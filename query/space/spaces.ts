import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import {
  deadlineExceeded,
  outcomeUnknown,
  overloaded,
  projectNotFound,
  recordSpaceNotFound,
  tooManySpaces,
} from '#kernel/errors/catalogue.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { assignSlots } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import {
  type CatalogueEntry,
  type FoundSpace,
  isMoving,
  type RetiredSlot,
  recordsIdOf,
  storedSpace,
} from './catalogue-entry.ts';
import { attempts, CatalogueVersions } from './catalogue-versions.ts';
import { prepareInitialRecords } from './initial-records.ts';
import { KnownSpaces } from './known-spaces.ts';
import type { SpaceRequest, SpacesParts } from './spaces-deps.ts';
import { StructureChanges } from './structure-changes.ts';
import { type ChangeWait, TypeChanges } from './type-changes.ts';

/** A space is made for all requests that wait, so the work has its own deadline. In milliseconds, like the others. */
const deadline = 30_000;
const late = (): Error => deadlineExceeded(deadline);
const cachedIds = 20_000;
/** How long a request waits for type changes to end. */
const patience = 20_000;

/** Finds, makes and changes record spaces. Each is a row of the catalogue. */
export class Spaces {
  readonly #deps: SpacesParts;
  readonly #known: KnownSpaces;
  readonly #versions: CatalogueVersions;
  readonly #changes: StructureChanges;
  readonly #types: TypeChanges;
  readonly #counts: CacheCounts;
  readonly #lock = new KeyedLock();
  readonly #limit: AccountQuota;
  readonly #refreshing = new Set<string>();
  /** Ids of spaces by path: hashing a path takes longer than the rest of a cache hit. */
  readonly #ids = new LRUCache<string, string>({ ...upTo(cachedIds) });

  constructor(deps: SpacesParts) {
    this.#deps = deps;
    this.#counts = deps.metrics.cache('spaces');
    this.#limit = new AccountQuota({
      limits: { objects: deps.maxSpaces },
      ask: async (ownerId, signal) => ({ objects: await deps.catalogue.countOfOwner(ownerId, signal) }),
      full: tooManySpaces,
    });
    const { freshness, invalidation, knownBytes: bytes } = deps;
    const known = new KnownSpaces({ ...freshness, invalidation, bytes });
    this.#known = known;
    this.#versions = new CatalogueVersions({ ...deps, known });
    this.#changes = new StructureChanges({ ...deps, known, versions: this.#versions });
    this.#types = new TypeChanges({
      ...deps,
      edit: (id, change, signal) => this.#locked(id, (own) => this.#versions.edit(id, change, own), signal),
      untilHeard: (signal) => this.untilHeard(signal),
    });
  }

  /** A space that was opened with this structure before; null: it must be resolved. */
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
    const id = this.#idOf(request);
    const patient = AbortSignal.timeout(patience);
    for (;;) {
      const { began } = this.#known.begin();
      const work = async (own: AbortSignal): Promise<RecordSpace | ChangeWait> => {
        const opened = await this.#open(id, request, began, own);
        if (typeof opened === 'object') request.onOpened?.(opened.id);
        return opened;
      };
      const opened = await this.#locked(id, work, signal);
      if (typeof opened === 'object') return opened;
      if (patient.aborted) throw overloaded('the type of a field of the record space is being changed');
      await opened(signal);
    }
  }

  /** A space with its stored structure; null when it does not exist. */
  async find(id: string, signal: AbortSignal): Promise<RecordSpace | null> {
    const space = this.findKnown(id);
    if (space !== null) return space;
    const { began } = this.#known.begin();
    const read = async (own: AbortSignal) =>
      this.#known.lastStored(id, began) ?? this.#versions.read(id, own);
    return this.#locked(id, read, signal);
  }

  /** The same without waiting; null: not in the cache. */
  findKnown(id: string): RecordSpace | null {
    const space = this.#known.lastStored(id);
    if (space !== null) this.#keepFresh(id);
    return space;
  }

  /**
   * Drops a space from the catalogue. From then on this process no longer finds its records, and after `untilHeard` no
   * process does; they are not deleted yet. Null: the space does not exist.
   */
  async drop(id: string, signal: AbortSignal): Promise<CatalogueEntry | null> {
    const work = async (own: AbortSignal): Promise<CatalogueEntry | null> => {
      const dropped = await this.#versions.drop(id, own);
      if (dropped !== null) {
        this.#limit.freed(dropped.ownerId);
        await this.#versions.announce(dropped);
      }
      return dropped;
    };
    return this.#locked(id, work, signal);
  }

  /**
   * Drops a field of the stored structure. Its slot is never reused, so nobody sees values of writes that began before.
   * Null: the space or the field does not exist.
   */
  async dropField(id: string, name: string, signal: AbortSignal): Promise<RetiredSlot | null> {
    return this.#locked(id, (own) => this.#versions.dropField(id, name, own), signal);
  }

  /** Stores the rules of a space, as JSON. False: the space does not exist, or `rules` returned null. */
  editRules(
    id: string,
    rules: (entry: CatalogueEntry) => string | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#locked(id, (own) => this.#versions.editRules(id, rules, own), signal);
  }

  /** Called after a write. Throws if the space has moved, or is moving: the copy may lack the write. */
  async assertInPlace({ catalogueId, id }: RecordSpace, signal: AbortSignal): Promise<void> {
    if (this.#deps.store.db.stores.all.length === 1) return;
    const now = await this.find(catalogueId, signal);
    if (now !== null && (now.id !== id || isMoving(now.stored)))
      throw outcomeUnknown(new Error('the record space is being moved to another store'));
  }

  /** See `TypeChanges`. */
  hold: TypeChanges['hold'] = (id, work) => this.#types.hold(id, work);
  endLeft: TypeChanges['endLeft'] = (id, signal) => this.#types.endLeft(id, signal);

  /** Resolves when no process starts anything with an older version. */
  async untilHeard(signal: AbortSignal): Promise<void> {
    const { staleAfter, heardAfter } = this.#deps.freshness;
    await sleep(Math.min(staleAfter, heardAfter), undefined, { signal });
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

  #seen(id: string, { structure, headers }: SpaceRequest, since?: number): RecordSpace | null {
    return structure === null
      ? this.#known.stored(id, since)
      : this.#known.view(id, structure, headers.mutate, since);
  }

  /** Whether writes to a space must wait, as read since the request came. */
  #mustWait(id: string, { stores }: SpaceRequest, since: number): boolean {
    return stores && (this.#known.stored(id, since)?.stored.typeChange ?? null) !== null;
  }

  /** @param since when the request came: waiting requests share one read of the catalogue */
  async #open(
    id: string,
    request: SpaceRequest,
    since: number,
    signal: AbortSignal,
  ): Promise<RecordSpace | ChangeWait> {
    if (this.#mustWait(id, request, since)) return this.#types.over(id);
    const again = this.#known.needsRead(id) ? null : this.#seen(id, request, since);
    if (again !== null) return again;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const read = this.#known.begin();
      const found = await this.#findOrAllow(id, request, signal);
      if (found.entry === null && !request.makes && request.structure?.initialData.length === 0)
        return {
          ...storedSpace(newSpace({ id, version: 0, store: 0 }, request, request.structure)),
          missing: true,
        };
      const entry = found.entry ?? (await this.#make(id, request, found.version, signal));
      if (entry === null) continue;
      const stored = await this.#versions.remember(entry, read, signal);
      const wait = this.#types.before(entry, request);
      if (wait !== null) return wait;
      const space = await this.#changes.reconcile(entry, stored, request, signal);
      if (space !== null) return space;
    }
    throw overloaded('too many requests change the structure of the record space');
  }

  /** Without an entry, the request may make the space. Throws 404 if it may not. */
  async #findOrAllow(
    id: string,
    { ownerId, projectSlug, slug, structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<FoundSpace> {
    const project = await this.#deps.projects.find(ownerId, projectSlug, signal);
    if (project === null && !headers.autoCreateProject) throw projectNotFound(projectSlug);
    const found = await this.#deps.catalogue.findVersioned(id, signal);
    if (found.entry !== null) return found;
    if (structure === null) throw recordSpaceNotFound(slug, ', so it has no stored structure to use');
    if (!headers.autoCreateRecordSpace)
      throw recordSpaceNotFound(slug, ', and auto-create-record-space is false');
    return found;
  }

  /** Makes a space; null if another process was first. @param last version; not 0 if it was dropped before */
  async #make(
    id: string,
    request: SpaceRequest,
    last: number,
    signal: AbortSignal,
  ): Promise<CatalogueEntry | null> {
    const { ownerId, projectSlug, structure } = request;
    await this.#limit.add(ownerId, signal);
    const version = last + 1;
    const made = newSpace(
      { id, version, store: this.#deps.store.db.stores.choose(id) },
      request,
      structure as Structure,
    );
    const initialRecords = await prepareInitialRecords(this.#deps, storedSpace(made), signal);
    await this.#deps.projects.ensure(ownerId, projectSlug, signal);
    const now = new Date();
    const entry = { ...made, version, initialRecords, leftRecords: '', createdAt: now, updatedAt: now };
    return (await this.#deps.catalogue.store(entry, signal)) ? entry : null;
  }

  #keepFresh(id: string): void {
    if (!this.#known.needsRead(id) || this.#refreshing.has(id)) return;
    this.#refreshing.add(id);
    // a persistent failure will fail a request later
    this.#locked(id, (own) => this.#versions.read(id, own), AbortSignal.timeout(deadline))
      .catch(() => {})
      .finally(() => this.#refreshing.delete(id));
  }

  #locked<Result>(
    id: string,
    work: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    return this.#lock.run(
      id,
      () => withDeadline(undefined, deadline, (attempt) => work(attempt.signal), { late }),
      signal,
    );
  }
}

function newSpace(
  place: Pick<CatalogueEntry, 'id' | 'version' | 'store'>,
  { ownerId, projectSlug }: SpaceRequest,
  declared: Structure,
) {
  const structure = createStructure({ ...declared, fields: assignSlots(declared.fields, []) });
  return {
    ...place,
    recordsId: recordsIdOf(place),
    ownerId,
    projectId: uuidV5(ownerId, projectSlug),
    structure,
    rules: '',
  };
}
