import { invalidBody } from '../../common/errors/catalogue.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import { type OpenRecordSpace, readPath } from '../space/open-space.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import { structureText } from '../structure/structure.ts';
import { jsonAnswer } from './json-answer.ts';

export interface StructureDeps {
  readonly openSpace: OpenRecordSpace;
  readonly structures: StructureCache;
  /** Bytes of a request body. */
  readonly bodyLimit: number;
}

/** POST /{project}/{space}/set-structure: brings the stored structure to the one of the body, and answers it. */
export function setStructure({ openSpace, structures, bodyLimit }: StructureDeps): Handler {
  return async (request) => {
    const space = await openSpace(request, 'setStructure', async () => {
      const path = readPath(request.params);
      const body = await readJson(request, bodyLimit);
      if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        throw invalidBody('Request body should be a JSON object: a structure');
      }
      // the path says which space is meant; the body may say so too
      return { path, structure: structures.readParsed({ ...path, ...body }, path) };
    });
    return jsonAnswer(structureText(space.stored));
  };
}

/** POST /{project}/{space}/set-inferred-structure: the same with the structure of a sample record. */
export function setInferredStructure({ openSpace, bodyLimit }: StructureDeps): Handler {
  return async (request) => {
    const space = await openSpace(request, 'setInferredStructure', async () => {
      const path = readPath(request.params);
      return { path, structure: inferStructure(await readJson(request, bodyLimit), path) };
    });
    return jsonAnswer(structureText(space.stored));
  };
}
