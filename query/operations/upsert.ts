import { invalidBody } from '#kernel/errors/catalogue.ts';
import { type Upsert, Upserts } from '#records/upserts.ts';
import { manyLimits } from './many-records.ts';
import type { OperationCall, QueryParts } from './operation.ts';

/**
 * Stores the records of an insert, or changes those that are stored already, and answers the JSON of each in order. New
 * ones are stored together, all or none, before the first of the others is changed.
 */
export async function upsert(
  { request, wrote }: OperationCall,
  deps: QueryParts,
  upsert: Upsert,
): Promise<readonly string[]> {
  const { signal } = request;
  const { space, onConflict, values } = upsert;
  if (values.length > manyLimits.records)
    throw invalidBody(`Request body has ${values.length} records; onConflict allows ${manyLimits.records}`);
  const operation = {
    update: { name: 'updateOne', family: 'update' },
    skip: { name: 'findOne', family: 'find' },
  } as const;
  // an insert that changes records, or shows them, needs leave to do so
  const asked = { request, space, projectSlug: space.structure.projectSlug, grants: space.grants };
  await deps.authorize({ ...asked, operation: operation[onConflict.do] });
  const upserts = new Upserts(deps, upsert, signal);
  try {
    return await upserts.run();
  } finally {
    wrote(upserts.written);
  }
}
