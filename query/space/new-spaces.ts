import { projectNotFound, recordSpaceNotFound } from '../../common/errors/catalogue.ts';
import { uuidV5 } from '../../common/metadata/uuid-v5.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { assignSlots } from '../structure/slots.ts';
import { createStructure, type Structure } from '../structure/structure.ts';
import { prepareInitialRecords } from './initial-records.ts';
import { type CatalogueEntry, type FoundSpace, storedSpace } from './space-catalogue.ts';
import { recordsIdOf } from './space-generation.ts';
import type { SpaceRequest } from './space-request.ts';
import type { SpacesDeps } from './spaces-deps.ts';

/** The entry of a space; none where the request may make the space. Throws 404 where it may not. */
export async function findOrAllow(
  { projects, catalogue }: SpacesDeps,
  id: string,
  { ownerId, projectSlug, slug, structure, headers }: SpaceRequest,
  signal: AbortSignal,
): Promise<FoundSpace> {
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
export async function makeSpace(
  deps: SpacesDeps,
  id: string,
  request: SpaceRequest,
  last: number,
  signal: AbortSignal,
): Promise<CatalogueEntry | null> {
  const { ownerId, projectSlug, structure } = request;
  const version = last + 1;
  const made = newSpace(id, recordsIdOf(id, version), request, structure as Structure);
  const initialRecords = await prepareInitialRecords(deps, storedSpace(made), signal);
  await deps.projects.ensure(ownerId, projectSlug, signal);
  const now = new Date();
  const entry = { ...made, version, initialRecords, createdAt: now, updatedAt: now };
  return (await deps.catalogue.store(entry, signal)) ? entry : null;
}

/** A space that is not there, as it would be if it were made now. */
export function missingSpace(id: string, request: SpaceRequest, declared: Structure): RecordSpace {
  return { ...storedSpace(newSpace(id, id, request, declared)), missing: true };
}

function newSpace(
  id: string,
  recordsId: string,
  { ownerId, projectSlug }: SpaceRequest,
  declared: Structure,
) {
  const structure = createStructure({ ...declared, fields: assignSlots(declared.fields, []) });
  return { id, recordsId, ownerId, projectId: uuidV5(ownerId, projectSlug), structure };
}
