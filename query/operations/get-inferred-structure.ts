import { readPath } from '../input/space-reference.ts';
import { sampleRecord } from '../openapi/describe-operation.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import { storedStructureSchema } from '../structure/structure-schema.ts';
import { structureAnswer } from './json-answer.ts';
import type { OperationDefinition } from './operation.ts';

/** POST /{project}/{space}/get-inferred-structure: the structure of a sample record; nothing is stored or made. */
export const getInferredStructure: OperationDefinition = {
  async run({ request, authenticate, body }) {
    await authenticate();
    const path = readPath(request.params);
    return structureAnswer(inferStructure(await body(), path));
  },
  tag: 'Structures',
  summary: 'Get the structure of a sample record',
  description: 'Nothing is stored.',
  spaceHeaders: 'none',
  body: sampleRecord,
  answer: () => storedStructureSchema,
  errors: ['invalid_slug', 'invalid_structure', 'invalid_value'],
  sample: { space: 'samples' },
};
