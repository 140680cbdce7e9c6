import { invalidBody, structureConflict } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { readPath } from '../input/space-reference.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';
import { structureAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/{space}/set-structure: brings the stored structure to the one of the body, and answers it. */
export const setStructure: RunOperation = async ({ request, open, body }, { structures }) => {
  let requested: Structure | null = null;
  const space = await open(async () => {
    const path = readPath(request.params);
    const input = await body();
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      throw invalidBody('Request body should be a JSON object: a structure');
    }
    // the path says which space is meant; the body may say so too
    requested = structures.readParsed({ ...path, ...input }, path);
    return { path, structure: requested };
  });
  refuseMissing(requested, space);
  return structureAnswer(space.stored);
};

/** POST /{project}/{space}/set-inferred-structure: the same with the structure of a sample record. */
export const setInferredStructure: RunOperation = async ({ request, open, body }) => {
  let requested: Structure | null = null;
  const space = await open(async () => {
    const path = readPath(request.params);
    requested = inferStructure(await body(), path);
    return { path, structure: requested };
  });
  refuseMissing(requested, space);
  return structureAnswer(space.stored);
};

/** Throws a 400 when fields were to be stored that were not, because `mutate` is false. */
function refuseMissing(requested: Pick<Structure, 'fields'> | null, { stored }: RecordSpace): void {
  const missing = (requested?.fields ?? []).filter(
    ({ slug }) => !stored.fields.some((field) => field.slug === slug),
  );
  if (missing.length === 0) return;
  throw structureConflict(
    missing.map(({ name }) => `Field ${shownName(name)} is not in the stored structure, and mutate is false`),
  );
}
