import { invalidBody } from '../../common/errors/catalogue.ts';
import { readPath } from '../input/space-reference.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import { structureText } from '../structure/structure.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}/set-structure: brings the stored structure to the one of the body, and answers it. */
export const setStructure: RunOperation = async ({ request, open, body }, { structures }) => {
  const space = await open(async () => {
    const path = readPath(request.params);
    const input = await body();
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      throw invalidBody('Request body should be a JSON object: a structure');
    }
    // the path says which space is meant; the body may say so too
    return { path, structure: structures.readParsed({ ...path, ...input }, path) };
  });
  return jsonAnswer(structureText(space.stored));
};

/** POST /{project}/{space}/set-inferred-structure: the same with the structure of a sample record. */
export const setInferredStructure: RunOperation = async ({ request, open, body }) => {
  const space = await open(async () => {
    const path = readPath(request.params);
    return { path, structure: inferStructure(await body(), path) };
  });
  return jsonAnswer(structureText(space.stored));
};
