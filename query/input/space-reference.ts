import { invalidSlug } from '#kernel/errors/catalogue.ts';
import { slugProblem, spaceSlugProblem } from '#kernel/ids/slug.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { RecordHeaders } from './record-headers.ts';
import type { StructureCache } from './structure-cache.ts';

/** The space of a request, and its structure. */
export interface SpaceReference {
  readonly path: SpacePath;
  /** Null: use the stored structure. */
  readonly structure: Structure | null;
}

/** The space that path and headers name. */
export function readSpaceReference(
  request: HttpRequest,
  { usePreStoredStructure }: RecordHeaders,
  structures: StructureCache,
): SpaceReference {
  const path = readPath(request.params);
  return {
    path,
    structure: usePreStoredStructure ? null : structures.read(request.header('structure'), path),
  };
}

/** The slugs of a path such as /{project}/{space}. Throws a 400 that lists their problems. */
export function readPath(params: HttpRequest['params']): SpacePath {
  const { project = '', space = '' } = params;
  const problems = [slugProblem('project', project), spaceSlugProblem(space)].filter(
    (problem) => problem !== null,
  );
  // this path serves functions such as login
  if (space === 'function') problems.push(`A record space can not have the slug 'function'`);
  if (problems.length > 0) throw invalidSlug(problems);
  return { projectSlug: project, slug: space };
}
