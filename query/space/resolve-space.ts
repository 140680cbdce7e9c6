import { LRUCache } from 'lru-cache';
import type { Database } from '../../common/clickhouse/database.ts';
import type { Projects } from '../../common/control/projects.ts';
import { uuidV5 } from '../../common/control/uuid-v5.ts';
import { deadlineExceeded, projectNotFound, recordSpaceNotFound } from '../../common/errors/catalogue.ts';
import type { RecordHeaders } from '../record-headers.ts';
import { type Structure, structureText } from '../structure/structure.ts';
import type { SpacePath } from '../structure/structure-cache.ts';
import { KeyedLock } from './keyed-lock.ts';
import { mergeStructure } from './merge-structure.ts';
import type { RecordSpace } from './record-space.ts';
import { ensureRecordTable, recordTable } from './record-table.ts';
import type { CatalogueEntry, SpaceCatalogue } from './space-catalogue.ts';

export interface SpaceRequest extends SpacePath {
  readonly ownerId: string;
  /** Null: the stored structure is to be used. */
  readonly structure: Structure | null;
  readonly headers: RecordHeaders;
}

export interface Spaces {
  /** Finds, makes or changes a space as the request's headers allow. Throws 404 and 400 otherwise. */
  resolve(request: SpaceRequest, signal: AbortSignal): Promise<RecordSpace>;
}

/** What is known of a space, so that a request whose structure was seen before asks nobody. */
interface KnownSpace {
  readonly stored: RecordSpace;
  /** Versions whose table is known to be complete. */
  readonly version: number;
  readonly views: WeakMap<Structure, { readonly space: RecordSpace; readonly merged: boolean }>;
  readonly size: number;
}

/** Characters of stored structures that are kept. */
const keptCharacters = 16 * 1024 * 1024;
/** A space is made for all who wait, so the work has a deadline of its own. */
const deadline = 30_000;

export function createSpaces(deps: {
  db: Database;
  database: string;
  projects: Projects;
  catalogue: SpaceCatalogue;
}): Spaces {
  const { db, database, projects, catalogue } = deps;
  const known = new LRUCache<string, KnownSpace>({
    maxSize: keptCharacters,
    sizeCalculation: ({ size }) => size,
  });
  const lock = new KeyedLock();

  /** A space that needs no look at the catalogue. */
  const seen = (id: string, { structure, headers }: SpaceRequest): RecordSpace | null => {
    const space = known.get(id);
    if (space === undefined) return null;
    if (structure === null) return space.stored;
    const view = space.views.get(structure);
    return view !== undefined && (view.merged || !headers.mutate) ? view.space : null;
  };

  const open = async (id: string, request: SpaceRequest, signal: AbortSignal): Promise<RecordSpace> => {
    const again = seen(id, request);
    if (again !== null) return again;
    const { ownerId, projectSlug, slug, structure, headers } = request;
    const project = await projects.find(ownerId, projectSlug, signal);
    if (project === null && !headers.autoCreateProject) throw projectNotFound(projectSlug);
    let entry = project === null ? null : await catalogue.find(id, signal);
    if (entry === null) {
      if (structure === null) {
        throw recordSpaceNotFound(slug, ', so it has no stored structure to use');
      }
      if (!headers.autoCreateRecordSpace) {
        throw recordSpaceNotFound(slug, ', and auto-create-record-space is false');
      }
      const { id: projectId } = project ?? (await projects.ensure(ownerId, projectSlug, signal));
      const now = new Date();
      entry = { id, ownerId, projectId, structure, version: 1, createdAt: now, updatedAt: now };
      await catalogue.store(entry, signal);
    } else if (structure !== null) {
      const merged = mergeStructure(entry.structure, structure, headers.mutate);
      if (structureText(merged) !== structureText(entry.structure)) {
        entry = { ...entry, structure: merged, version: entry.version + 1, updatedAt: new Date() };
        await catalogue.store(entry, signal);
      }
    }
    return remember(entry, structure, headers.mutate, signal);
  };

  /** The catalogue comes first: whoever finds an entry of which the table lacks something adds it. */
  const remember = async (
    entry: CatalogueEntry,
    structure: Structure | null,
    merged: boolean,
    signal: AbortSignal,
  ): Promise<RecordSpace> => {
    const { id, projectId } = entry;
    const before = known.get(id);
    if (before?.version !== entry.version) {
      await ensureRecordTable(db, { database, spaceId: id, structure: entry.structure }, signal);
    }
    const stored = { id, projectId, table: recordTable(database, id), structure: entry.structure };
    // columns are never dropped and keep their types, so what was seen to fit fits on
    const views: KnownSpace['views'] = before?.views ?? new WeakMap();
    known.set(id, { stored, version: entry.version, views, size: structureText(entry.structure).length });
    if (structure === null) return stored;
    const space = { ...stored, structure };
    views.set(structure, { space, merged });
    return space;
  };

  return {
    async resolve(request, signal) {
      const id = uuidV5(request.ownerId, request.projectSlug, request.slug);
      const space = seen(id, request);
      if (space !== null) return space;
      return lock.run(id, () => withDeadline((own) => open(id, request, own)), signal);
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
