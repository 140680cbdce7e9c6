import type { Database } from '../../common/clickhouse/database.ts';
import type { Projects } from '../../common/control/projects.ts';
import { uuidV5 } from '../../common/control/uuid-v5.ts';
import {
  deadlineExceeded,
  overloaded,
  projectNotFound,
  recordSpaceNotFound,
} from '../../common/errors/catalogue.ts';
import { KeyedLock } from '../../common/limits/keyed-lock.ts';
import type { Push } from '../../common/push/push.ts';
import type { RecordHeaders } from '../input/record-headers.ts';
import type { SpacePath } from '../input/structure-cache.ts';
import type { Hasher } from '../records/hasher.ts';
import type { SpaceVersions } from '../records/space-versions.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { type Structure, structureText } from '../structure/structure.ts';
import { ChangeLimit } from './change-limit.ts';
import { checkSwitchedOn, switchedOn } from './check-switched-on.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import { createTableWithRecords, prepareInitialRecords } from './initial-records.ts';
import { KnownSpaces, type Look } from './known-spaces.ts';
import { mergeStructure } from './merge-structure.ts';
import { ensureRecordTable, recordTable } from './record-table.ts';
import type { CatalogueEntry, SpaceCatalogue } from './space-catalogue.ts';
import { agrees, agreesOnAuth } from './structure-view.ts';

export interface SpaceRequest extends SpacePath {
  readonly ownerId: string;
  /** Null: the stored structure is to be used. */
  readonly structure: Structure | null;
  readonly headers: RecordHeaders;
  /** Called with the space's id in the moment in which it is decided which structure counts. */
  readonly onOpened?: (spaceId: string) => void;
}

export interface Spaces {
  /** Finds, makes or changes a space as the request's headers allow. Throws 404 and 400 otherwise. */
  resolve(request: SpaceRequest, signal: AbortSignal): Promise<RecordSpace>;
  /** A space with its stored structure; null when it does not exist. */
  find(id: string, signal: AbortSignal): Promise<RecordSpace | null>;
}

/** Milliseconds: a structure older than `freshFor` is looked up again, and one older than `staleAfter` is not used. */
export interface Freshness {
  readonly freshFor: number;
  readonly staleAfter: number;
}

/** A space is made for all who wait, so the work has a deadline of its own. */
const deadline = 30_000;
/** How long the writes that began before a rule was switched on may take. */
const idleLimit = 10_000;
/** Others were first so often that something is wrong. */
const attempts = 20;
const usualFreshness: Freshness = { freshFor: 5_000, staleAfter: 10_000 };
/** How often a space may go back to a structure that it had before; then the stricter rules stay. */
const turnLimit = { per: 60_000, limit: 20 };

export function createSpaces(deps: {
  db: Database;
  database: string;
  projects: Projects;
  catalogue: SpaceCatalogue;
  hasher: Hasher;
  newId: () => string;
  writes: InFlightWrites;
  /** Absent: what docs/api.md promises. */
  freshness?: Freshness;
  /** Tells other processes of changes; absent: they find out by themselves when what they know is stale. */
  push?: Push | undefined;
  versions: SpaceVersions;
}): Spaces {
  const { db, database, projects, catalogue, writes, push, versions } = deps;
  const known = new KnownSpaces({ ...(deps.freshness ?? usualFreshness), push });
  const turns = new ChangeLimit(turnLimit);
  const lock = new KeyedLock();

  /** A space that needs no look at the catalogue. */
  const seen = (id: string, { structure, headers }: SpaceRequest, since?: number): RecordSpace | null =>
    structure === null ? known.stored(id, since) : known.view(id, structure, headers.mutate, since);

  /** @param since when the request came: those that wait in line share the look of the first */
  const open = async (
    id: string,
    request: SpaceRequest,
    since: number,
    signal: AbortSignal,
  ): Promise<RecordSpace> => {
    const again = known.needsLook(id) ? null : seen(id, request, since);
    if (again !== null) return again;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const begun = known.look();
      const entry = (await findEntry(id, request, signal)) ?? (await createEntry(id, request, signal));
      if (entry === null) continue;
      const stored = await rememberEntry(entry, begun, signal);
      const space = await reconcile(entry, stored, request, signal);
      if (space !== null) return space;
    }
    throw overloaded('the structure of the record space is being changed by many');
  };

  const findEntry = async (
    id: string,
    { ownerId, projectSlug, slug, structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<CatalogueEntry | null> => {
    const project = await projects.find(ownerId, projectSlug, signal);
    if (project === null && !headers.autoCreateProject) throw projectNotFound(projectSlug);
    const entry = project === null ? null : await catalogue.find(id, signal);
    if (entry !== null) return entry;
    if (structure === null) throw recordSpaceNotFound(slug, ', so it has no stored structure to use');
    if (!headers.autoCreateRecordSpace) {
      throw recordSpaceNotFound(slug, ', and auto-create-record-space is false');
    }
    return null;
  };

  /** Makes a space, unless another process is first. */
  const createEntry = async (
    id: string,
    { ownerId, projectSlug, structure: requested }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<CatalogueEntry | null> => {
    const structure = requested as Structure;
    const projectId = uuidV5(ownerId, projectSlug);
    const space = { id, projectId, table: recordTable(database, id), structure, stored: structure };
    const initialRecords = await prepareInitialRecords(deps, space, signal);
    await projects.ensure(ownerId, projectSlug, signal);
    const now = new Date();
    const entry = { id, ownerId, projectId, structure, version: 1, createdAt: now, updatedAt: now };
    return (await catalogue.store(entry, initialRecords, signal)) ? entry : null;
  };

  /** The catalogue comes first: whoever finds an entry of which the table lacks something adds it. */
  const rememberEntry = async (
    entry: CatalogueEntry,
    begun: Look,
    signal: AbortSignal,
  ): Promise<RecordSpace> => {
    const { id, projectId, structure, version } = entry;
    const space = { id, projectId, table: recordTable(database, id), structure, stored: structure };
    if (!known.hasVersion(id, version)) {
      // a later version is only made of a space that has its table
      const initialRecords = version === 1 ? await catalogue.initialRecords(id, signal) : '';
      if (initialRecords !== '') {
        await createTableWithRecords(db, { database, space, initialRecords }, signal);
        await versions.change(id);
      }
      await ensureRecordTable(db, { database, spaceId: id, structure }, signal);
    }
    return known.remember(space, version, begun);
  };

  /** The space as the request sees it; null when another process changed it meanwhile. */
  const reconcile = async (
    entry: CatalogueEntry,
    stored: RecordSpace,
    { structure, headers }: SpaceRequest,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> => {
    if (structure === null) return stored;
    const { mutate } = headers;
    const again = known.hasMerged(entry.id, structure);
    const settled = again && (agrees(entry.structure, structure) || keepsStrict(entry, structure));
    const merged = settled ? entry.structure : mergeStructure(entry.structure, structure, mutate);
    if (settled || structureText(merged) === structureText(entry.structure)) {
      return known.addView(stored, structure, mutate);
    }
    const next = { ...entry, structure: merged, version: entry.version + 1, updatedAt: new Date() };
    const change = async (): Promise<RecordSpace | null> => {
      const begun = known.look();
      if (!(await catalogue.store(next, '', signal))) return null;
      try {
        return await rememberEntry(next, begun, signal);
      } finally {
        // whoever looks from now on adds to the table what may still be missing
        await Promise.all([push?.publish(entry.id), versions.change(entry.id)]);
      }
    };
    if (again) turns.note(entry.id);
    const changed = await whenRulesHold(stored, merged, change, signal);
    return changed === null ? null : known.addView(changed, structure, mutate);
  };

  /** Whether a structure that differs from the stored one is left at that: it would only lift rules, once too often. */
  const keepsStrict = ({ id, structure: stored }: CatalogueEntry, requested: Structure): boolean =>
    turns.reached(id) &&
    (requested.auth?.active !== true || agreesOnAuth(stored, requested)) &&
    switchedOn(stored, requested, 'required').length + switchedOn(stored, requested, 'unique').length === 0;

  /** Makes a change, with nobody writing meanwhile when it brings rules that stored records must obey. */
  const whenRulesHold = async (
    { id, table, stored: before }: RecordSpace,
    after: Structure,
    change: () => Promise<RecordSpace | null>,
    signal: AbortSignal,
  ): Promise<RecordSpace | null> => {
    const rules = switchedOn(before, after, 'required').length + switchedOn(before, after, 'unique').length;
    if (rules === 0) return change();
    return known.whileClosed(id, async () => {
      await writes.idle(id, idleLimit);
      await checkSwitchedOn(db, { table, before, after }, signal);
      return change();
    });
  };

  const locked = async <Result>(
    id: string,
    work: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> => lock.run(id, () => withDeadline(work), signal);

  const look = async (id: string, signal: AbortSignal): Promise<RecordSpace | null> => {
    const begun = known.look();
    const entry = await catalogue.find(id, signal);
    return entry === null ? null : rememberEntry(entry, begun, signal);
  };

  const refreshing = new Set<string>();
  /** Looks a space up again when it is time, for those who come after. */
  const keepFresh = (id: string): void => {
    if (!known.needsLook(id) || refreshing.has(id)) return;
    refreshing.add(id);
    // what fails here fails again, and then for a request that hears of it
    locked(id, (own) => look(id, own), AbortSignal.timeout(deadline))
      .catch(() => {})
      .finally(() => refreshing.delete(id));
  };

  return {
    async resolve(request, signal) {
      const { onOpened } = request;
      const id = uuidV5(request.ownerId, request.projectSlug, request.slug);
      const space = seen(id, request);
      if (space !== null) {
        onOpened?.(id);
        keepFresh(id);
        return space;
      }
      const { began } = known.look();
      const work = async (own: AbortSignal): Promise<RecordSpace> => {
        const opened = await open(id, request, began, own);
        onOpened?.(id);
        return opened;
      };
      return locked(id, work, signal);
    },
    async find(id, signal) {
      const space = known.lastStored(id);
      if (space === null) {
        const { began } = known.look();
        return locked(id, async (own) => known.lastStored(id, began) ?? look(id, own), signal);
      }
      keepFresh(id);
      return space;
    },
  };
}

async function withDeadline<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const signal = AbortSignal.timeout(deadline);
  try {
    return await work(signal);
  } catch (error) {
    throw signal.aborted ? deadlineExceeded(deadline) : error;
  }
}
