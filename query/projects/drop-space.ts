import type { Project, Projects } from '#catalogue/projects.ts';
import { noSuchProject, notFound, projectHasFiles, recordSpaceNotFound } from '#kernel/errors/catalogue.ts';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import type { RecordFiles } from '#records/record-files.ts';
import { type CatalogueEntry, droppedVersion } from '../space/catalogue-entry.ts';
import type { InFlightWrites } from '../space/in-flight-writes.ts';
import { clearMoved, clearSlot, deleteDropped, droppingAll, type RemovalParts } from '../space/removals.ts';
import type { Spaces } from '../space/spaces.ts';

export interface DropParts extends RemovalParts {
  readonly writes: InFlightWrites;
  readonly spaces: Spaces;
  readonly projects: Projects;
  readonly recordFiles: RecordFiles;
}

/** Milliseconds for a drop. It has its own deadline, so a client that disconnects does not interrupt it. */
const dropLimit = 60_000;
/** Spaces of a project that are dropped at once. */
const spacesAtOnce = 4;
/** Most searches for spaces that are made while their project is dropped. */
const rounds = 5;

/**
 * Drops a space in steps; a kill between two of them does no harm. The catalogue marks the space as dropped, from when
 * nobody finds its records, not even a new space of the same slug (catalogue-entry.ts). Then every process hears of it, and
 * the records are deleted. If that is interrupted, the next start deletes them.
 */
export async function dropSpace(
  deps: DropParts,
  { id, slug }: { readonly id: string; readonly slug: string },
  signal: AbortSignal,
): Promise<void> {
  const drop = async (): Promise<void> => {
    const entry = await deps.spaces.drop(id, signal);
    if (entry === null) throw recordSpaceNotFound(slug, '');
    const own = AbortSignal.timeout(dropLimit);
    await deps.spaces.untilHeard(own);
    await deleteRecords(deps, entry, own);
  };
  await droppingFiles(deps, id, drop, signal);
}

/** Does work after which a space may name fewer files. */
async function droppingFiles<Result>(
  { spaces, recordFiles }: DropParts,
  id: string,
  work: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const space = await spaces.find(id, signal);
  return space === null ? work() : droppingAll(recordFiles, space, work, signal);
}

/**
 * Drops a field by one write to the catalogue, however many records there are. From then on nobody sees its values, which
 * are removed from the records afterwards.
 */
export async function dropField(
  deps: DropParts,
  { id, field }: { readonly id: string; readonly field: string },
  signal: AbortSignal,
): Promise<void> {
  const drop = async (): Promise<void> => {
    const dropped = await deps.spaces.dropField(id, field, signal);
    if (dropped === null) throw notFound('There is no such field');
    await deps.spaces.untilHeard(AbortSignal.timeout(dropLimit));
    void clearSlot(deps, dropped);
  };
  await droppingFiles(deps, id, drop, signal);
}

/** Drops all spaces of a project, and the project. Throws 409 while it has files. */
export async function dropProject(
  deps: DropParts,
  { ownerId, slug }: Pick<Project, 'ownerId' | 'slug'>,
  signal: AbortSignal,
): Promise<void> {
  const { projects, catalogue, spaces } = deps;
  const project = await projects.find(ownerId, slug, signal);
  if (project === null) throw noSuchProject(slug);
  if (await projects.hasFiles(project, signal)) throw projectHasFiles(slug);
  for (let round = 0; round < rounds; round++) {
    const left = await catalogue.idsOfProject(project.id, signal);
    if (left.length === 0) break;
    const entries: CatalogueEntry[] = [];
    await forEachAtOnce(left, spacesAtOnce, async ({ id }) => {
      const entry = await droppingFiles(deps, id, () => spaces.drop(id, signal), signal);
      if (entry !== null) entries.push(entry);
    });
    await spaces.untilHeard(signal);
    for (const entry of entries) await deleteRecords(deps, entry, AbortSignal.timeout(dropLimit));
  }
  const own = AbortSignal.timeout(dropLimit);
  await projects.remove(project, own);
  await spaces.untilHeard(own);
  // another process may have stored a file or a space meanwhile: it needs the project
  const { length } = await catalogue.idsOfProject(project.id, own);
  if (length > 0 || (await projects.hasFiles(project, own))) {
    await projects.ensure(ownerId, slug, own);
    if (project.fileRules !== undefined) await projects.setFileRules(project, project.fileRules, own);
  }
}

/** Drops all spaces of an account. */
export async function dropSpacesOf(deps: DropParts, ownerId: string, signal: AbortSignal): Promise<void> {
  const { catalogue, spaces } = deps;
  for (let left = await catalogue.idsOfOwner(ownerId, signal); left.length > 0; ) {
    const entries: CatalogueEntry[] = [];
    await forEachAtOnce(left, spacesAtOnce, async ({ id }) => {
      // an unfinished move may have left records in another store
      await clearMoved(deps, id, signal);
      const entry = await spaces.drop(id, signal);
      if (entry !== null) entries.push(entry);
    });
    await spaces.untilHeard(signal);
    for (const entry of entries) await deleteRecords(deps, entry, signal);
    left = await catalogue.idsOfOwner(ownerId, signal);
  }
}

function deleteRecords(deps: DropParts, entry: CatalogueEntry, signal: AbortSignal): Promise<void> {
  const { id, ownerId, projectId, structure, store, version } = entry;
  const { projectSlug } = structure;
  const dropped = { id, ownerId, projectId, projectSlug, store, version: droppedVersion(version) };
  return deleteDropped(deps, dropped, signal);
}
