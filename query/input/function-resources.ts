import { invalidHeader, invalidSlug } from '#kernel/errors/catalogue.ts';
import { slugProblem } from '#kernel/ids/slug.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { isObject } from '#records/structure/is-object.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { readPath, type SpaceReference } from './space-reference.ts';
import type { StructureCache } from './structure-cache.ts';

/**
 * Reads the header `function-resources`, which names the structures that a function works on: for login exactly one, of
 * the space that holds the users.
 */
export function readFunctionResources(request: HttpRequest, structures: StructureCache): SpaceReference {
  const { project = '' } = request.params;
  const projectIsWrong = slugProblem('project', project);
  if (projectIsWrong !== null) throw invalidSlug([projectIsWrong]);
  const text = request.header('function-resources');
  if (text === undefined || text === '') {
    throw invalidHeader([
      'The header function-resources is missing: send {"mustExistSpaceStructures":[structure]}',
    ]);
  }
  const structure = onlyStructure(text);
  const { slug } = structure;
  // a structure without slug is refused with all else that is wrong with it
  const path =
    typeof slug === 'string' && slug !== ''
      ? readPath({ project, space: slug })
      : { projectSlug: project, slug: '' };
  // with its slug alone, the stored one is meant
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
      'The header function-resources should name one structure in mustExistSpaceStructures: that of the users',
    ]);
  }
  return only;
}
