import type { Authenticate } from '../common/auth/authenticate.ts';
import type { Database } from '../common/clickhouse/database.ts';
import { slugProblem } from '../common/control/slug.ts';
import { clearNotAllowed, invalidSlug } from '../common/errors/catalogue.ts';
import type { HttpRequest } from '../common/http/http-types.ts';
import { readRecordHeaders } from './record-headers.ts';
import { clearProject, clearSpace } from './space/clear-records.ts';
import type { RecordSpace } from './space/record-space.ts';
import type { Spaces } from './space/resolve-space.ts';
import type { SpaceCatalogue } from './space/space-catalogue.ts';
import type { SpacePath, StructureCache } from './structure/structure-cache.ts';

/** The way that every record operation goes first: who asks, with which structure, for which space. */
export type OpenRecordSpace = (request: HttpRequest) => Promise<RecordSpace>;

export function createOpenRecordSpace(deps: {
  db: Database;
  database: string;
  authenticate: Authenticate;
  structures: StructureCache;
  spaces: Spaces;
  catalogue: SpaceCatalogue;
  allowClear: boolean;
}): OpenRecordSpace {
  const { db, authenticate, structures, spaces, allowClear } = deps;
  return async (request) => {
    const { userId } = await authenticate(request);
    const path = readPath(request.params);
    const headers = readRecordHeaders(request);
    const structure = headers.usePreStoredStructure
      ? null
      : structures.read(request.header('structure'), path);
    if (headers.clearAllSpaces && !allowClear) throw clearNotAllowed('clear-all-spaces: true');
    const clear = structure?.clear === true;
    if (clear && !allowClear) throw clearNotAllowed('clear: true in the structure');
    const space = await spaces.resolve({ ownerId: userId, ...path, structure, headers }, request.signal);
    if (headers.clearAllSpaces) await clearProject(deps, space.projectId, request.signal);
    else if (clear) await clearSpace(db, space.table, request.signal);
    return space;
  };
}

function readPath(params: HttpRequest['params']): SpacePath {
  const { project = '', space = '' } = params;
  const problems = [slugProblem('project', project), slugProblem('record space', space)].filter(
    (problem) => problem !== null,
  );
  // its path is where functions such as login are called
  if (space === 'function') problems.push(`A record space can not have the slug 'function'`);
  if (problems.length > 0) throw invalidSlug(problems);
  return { projectSlug: project, slug: space };
}
