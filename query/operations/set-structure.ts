import { invalidBody, invalidHeader, structureConflict } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { readRecordHeaders } from '../input/record-headers.ts';
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
    refusePreStored(request);
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
    refusePreStored(request);
    const path = readPath(request.params);
    requested = inferStructure(await body(), path);
    return { path, structure: requested };
  });
  refuseMissing(requested, space);
  return structureAnswer(space.stored);
};

/** Throws a 400 for a header that asks to keep the structure which the body would change. */
function refusePreStored(request: HttpRequest): void {
  if (!readRecordHeaders(request).usePreStoredStructure) return;
  throw invalidHeader([
    'The header use-pre-stored-structure: true contradicts the body, which is the structure to store: send one of them',
  ]);
}

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
