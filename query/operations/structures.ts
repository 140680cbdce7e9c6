import { invalidBody, invalidHeader, structureConflict } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { nameSchema } from '#kernel/json/name-schema.ts';
import { named } from '#kernel/json/schema.ts';
import { inferStructure } from '#records/structure/infer-structure.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { type SpacePath, type Structure, structureText } from '#records/structure/structure.ts';
import { storedStructureSchema } from '#records/structure/structure-schema.ts';
import { isObject } from '#records/types/is-object.ts';
import type { HttpRequest, HttpResponse } from '#server/http/http-types.ts';
import type { ApiMedia } from '#server/openapi/api-operation.ts';
import { readRecordHeaders } from '../input/record-headers.ts';
import { readPath } from '../input/space-reference.ts';
import { jsonAnswer } from './json-answer.ts';
import type { OperationDefinition, QueryParts } from './operation.ts';

function sampleRecord(): ApiMedia {
  return {
    schema: named('SampleRecord', {
      type: 'object',
      minProperties: 1,
      propertyNames: nameSchema,
      additionalProperties: true,
    }),
    example: { firstName: 'Ada', age: 36 },
  };
}

export const setStructure: OperationDefinition = {
  ...structureSetter(async (input, path, { structures }) => {
    if (!isObject(input)) throw invalidBody('Request body should be a JSON object: a structure');
    // the path names the space; the body may name it as well
    return structures.readParsed({ ...path, ...input }, path);
  }),
  summary: 'Set the structure of a space',
  description: '`projectSlug` and `slug` may be left out of the body: the path has them.',
  body: ({ structureBody }) => structureBody,
  sample: {},
};

export const setInferredStructure: OperationDefinition = {
  ...structureSetter(async (input, path, { spaces }, { ownerId, signal }) => {
    const stored = await spaces.find(uuidV5(ownerId, path.projectSlug, path.slug), signal);
    return inferStructure(input, path, stored?.structure);
  }),
  summary: 'Set the structure of a sample record',
  body: sampleRecord,
  errors: ['invalid_value'],
  sample: { space: 'samples' },
};

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

/** Stores the structure that a body describes, and answers the stored one. @param read makes the structure from the body */
function structureSetter(
  read: (
    body: unknown,
    path: SpacePath,
    deps: QueryParts,
    context: { readonly ownerId: string; readonly signal: AbortSignal },
  ) => Promise<Structure>,
): Pick<OperationDefinition, 'run' | 'tag' | 'spaceHeaders' | 'answer'> {
  return {
    async run({ request, open, body }, deps) {
      let requested: Structure | null = null;
      const space = await open(async (ownerId) => {
        refusePreStored(request);
        const path = readPath(request.params);
        requested = await read(await body(), path, deps, { ownerId, signal: request.signal });
        return { path, structure: requested };
      });
      refuseMissing(requested, space);
      return structureAnswer(space.stored);
    },
    tag: 'Structures',
    spaceHeaders: 'creation',
    answer: () => storedStructureSchema,
  };
}

/** Clients use two names for the list of fields: the answer has both. */
function structureAnswer(structure: Structure): HttpResponse {
  const parsed = JSON.parse(structureText(structure)) as { readonly recordStructure: unknown };
  return jsonAnswer(JSON.stringify({ ...parsed, recordFieldStructures: parsed.recordStructure }));
}

/** Throws a 400 for a header that contradicts the body. */
function refusePreStored(request: HttpRequest): void {
  if (!readRecordHeaders(request).usePreStoredStructure) return;
  throw invalidHeader([
    'The header use-pre-stored-structure: true contradicts the body, which is the structure to store: send one of them',
  ]);
}

/** Throws a 400 if fields were not stored because `mutate` is false. */
function refuseMissing(requested: Pick<Structure, 'fields'> | null, { stored }: RecordSpace): void {
  const missing = (requested?.fields ?? []).filter(
    ({ slug }) => !stored.fields.some((field) => field.slug === slug),
  );
  if (missing.length === 0) return;
  throw structureConflict(
    missing.map(({ name }) => `Field ${shownName(name)} is not in the stored structure, and mutate is false`),
  );
}
