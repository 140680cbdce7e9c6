import { invalidHeader } from '#kernel/errors/catalogue.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { isObject } from '#records/types/is-object.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { readProjectSlug } from '#server/http/project-slug.ts';
import { readPath, type SpaceReference } from './space-reference.ts';
import type { StructureCache } from './structure-cache.ts';

/**
 * Reads the header `function-resources`, which has the structures that a function works on. Login needs exactly one: the
 * structure of the space that holds the users.
 */
export function readFunctionResources(request: HttpRequest, structures: StructureCache): SpaceReference {
  const project = readProjectSlug(request);
  const text = request.header('function-resources');
  if (text === undefined || text === '') {
    throw invalidHeader([
      'The header function-resources is missing: send {"mustExistSpaceStructures":[structure]}',
    ]);
  }
  const structure = onlyStructure(text);
  const { slug } = structure;
  // a structure without a slug is refused below, together with its other problems
  const path =
    typeof slug === 'string' && slug !== ''
      ? readPath({ project, space: slug })
      : { projectSlug: project, slug: '' };
  // only a slug: use the stored structure
  const isStored = Object.keys(structure).length === 1 && path.slug !== '';
  return { path, structure: isStored ? null : structures.readParsed(structure, path, text) };
}

function onlyStructure(text: string): Readonly<Record<string, unknown>> {
  let input: unknown;
  try {
    input = parseExactly(text);
  } catch (cause) {
    const problem = cause instanceof RoundedNumber ? `: ${cause.message}` : ' is not valid JSON';
    throw invalidHeader([`The header function-resources${problem}`], cause);
  }
  const list: unknown = isObject(input) ? input.mustExistSpaceStructures : undefined;
  if (!Array.isArray(list)) {
    throw invalidHeader([
      'The header function-resources lacks mustExistSpaceStructures, an array of structures',
    ]);
  }
  const [only] = list as readonly unknown[];
  if (list.length !== 1 || !isObject(only)) {
    throw invalidHeader([
      'The header function-resources should have one structure in mustExistSpaceStructures, the one of the users',
    ]);
  }
  return only;
}
