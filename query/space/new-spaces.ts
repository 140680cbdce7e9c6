import { projectNotFound, recordSpaceNotFound } from '../../common/errors/catalogue.ts';
import type { CountLimit } from '../../common/limits/count-limit.ts';
import type { Hasher } from '../../common/login/hasher.ts';
import type { Projects } from '../../common/metadata/projects.ts';
import { uuidV5 } from '../../common/metadata/uuid-v5.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { assignSlots } from '../structure/slots.ts';
import { createStructure, type Structure } from '../structure/structure.ts';
import { prepareInitialRecords } from './initial-records.ts';
import type { CatalogueEntry, SpaceCatalogue } from './space-catalogue.ts';
import { recordsIdOf } from './space-generation.ts';
import type { SpaceRequest } from './space-request.ts';

export interface NewSpacesDeps {
  readonly projects: Projects;
  readonly catalogue: SpaceCatalogue;
  readonly hasher: Hasher;
  readonly newId: () => string;
  /** Of the spaces of an account. */
  readonly limit: CountLimit;
}

/** Makes spaces that are not there, as far as a request allows it. */
export class NewSpaces {
  readonly #deps: NewSpacesDeps;

  constructor(deps: NewSpacesDeps) {
    this.#deps = deps;
  }

  /** The space; none where the request may make it. Throws 404 where it may not. */
  async find(
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
  async make(
    id: string,
    { ownerId, projectSlug, structure: requested }: SpaceRequest,
    last: number,
    signal: AbortSignal,
  ): Promise<CatalogueEntry | null> {
    await this.#deps.limit.admit(ownerId, signal);
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
}

/** As it would be if it were made now. */
export function missingSpace(
  id: string,
  { ownerId, projectSlug }: SpaceRequest,
  declared: Structure,
): RecordSpace {
  const structure = createStructure({ ...declared, fields: assignSlots(declared.fields, []) });
  const projectId = uuidV5(ownerId, projectSlug);
  return { id, catalogueId: id, ownerId, projectId, structure, stored: structure, missing: true };
}
