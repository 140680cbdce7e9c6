import type { Authenticate } from '../../common/auth/authenticate.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { slugProblem } from '../../common/control/slug.ts';
import { clearNotAllowed, invalidSlug } from '../../common/errors/catalogue.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { readRecordHeaders } from '../input/record-headers.ts';
import type { SpacePath, StructureCache } from '../input/structure-cache.ts';
import type { Authorize } from '../login/authorize.ts';
import { familyOf, type OperationName } from '../record-operation.ts';
import type { SpaceVersions } from '../records/space-versions.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';
import { clearProject, clearSpace } from './clear-records.ts';
import type { InFlightWrites } from './in-flight-writes.ts';
import { refuseUnbuilt } from './refuse-unbuilt.ts';
import type { Spaces } from './resolve-space.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

/** Which space a request means, and with which structure. */
export interface SpaceReference {
  readonly path: SpacePath;
  /** Null: the stored structure is to be used. */
  readonly structure: Structure | null;
}

/**
 * The way that every record operation goes first: who asks, with which structure, for which space, and whether the
 * space lets them. @param reference where an operation names its space in another way than by path and headers
 */
export type OpenRecordSpace = (
  request: HttpRequest,
  operation: OperationName,
  reference?: (request: HttpRequest) => SpaceReference | Promise<SpaceReference>,
) => Promise<RecordSpace>;

export function createOpenRecordSpace(deps: {
  db: Database;
  database: string;
  authenticate: Authenticate;
  authorize: Authorize;
  structures: StructureCache;
  spaces: Spaces;
  catalogue: SpaceCatalogue;
  writes: InFlightWrites;
  allowClear: boolean;
  versions: SpaceVersions;
}): OpenRecordSpace {
  const { authenticate, authorize, structures, spaces, writes, allowClear } = deps;

  const byHeaders = (request: HttpRequest): SpaceReference => {
    const path = readPath(request.params);
    const { usePreStoredStructure } = readRecordHeaders(request);
    return {
      path,
      structure: usePreStoredStructure ? null : structures.read(request.header('structure'), path),
    };
  };

  return async (request, operation, reference = byHeaders) => {
    const { userId: ownerId } = await authenticate(request);
    const { path, structure } = await reference(request);
    const headers = readRecordHeaders(request);
    if (headers.clearAllSpaces && !allowClear) throw clearNotAllowed('clear-all-spaces: true');
    const clear = structure?.clear === true;
    if (clear && !allowClear) throw clearNotAllowed('clear: true in the structure');

    const family = familyOf(operation);
    const mayStore = family === 'insert' || family === 'update';
    const onOpened = (id: string): void => {
      if (mayStore) writes.enter(request, id);
    };
    const space = await spaces.resolve({ ownerId, ...path, structure, headers, onOpened }, request.signal);
    const asked = { request, space, ownerId, projectSlug: path.projectSlug };
    await authorize({ ...asked, operation });
    if (headers.clearAllSpaces || clear) await authorize({ ...asked, operation: 'clear' });
    refuseUnbuilt(request, operation, space);
    if (headers.clearAllSpaces) await clearProject(deps, space.projectId, request.signal);
    else if (clear) await clearSpace(deps, space, request.signal);
    return space;
  };
}

/** The slugs of a path such as /{project}/{space}. Throws a 400 that lists what is wrong with them. */
export function readPath(params: HttpRequest['params']): SpacePath {
  const { project = '', space = '' } = params;
  const problems = [slugProblem('project', project), slugProblem('record space', space)].filter(
    (problem) => problem !== null,
  );
  // its path is where functions such as login are called
  if (space === 'function') problems.push(`A record space can not have the slug 'function'`);
  if (problems.length > 0) throw invalidSlug(problems);
  return { projectSlug: project, slug: space };
}
