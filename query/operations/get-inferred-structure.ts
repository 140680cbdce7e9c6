import { readPath } from '../input/space-reference.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import { structureAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}/get-inferred-structure: the structure of a sample record; nothing is stored or made. */
export const getInferredStructure: RunOperation = async ({ request, authenticate, body }) => {
  await authenticate();
  const path = readPath(request.params);
  return structureAnswer(inferStructure(await body(), path));
};
