import { invalidBody } from '#kernel/errors/catalogue.ts';
import { type Upsert, type UpsertOutcome, Upserts } from '#records/upserts.ts';
import { manyLimits } from './many-records.ts';
import type { OperationCall, QueryParts } from './operation.ts';

/**
 * Stores the records of an insert, or changes the ones that are already stored.
 * New records are stored together, all or none, before any stored record is changed.
 */
export async function upsert(
  { request, wrote }: OperationCall,
  deps: QueryParts,
  upsert: Upsert,
): Promise<UpsertOutcome> {
  const { signal } = request;
  const { space, onConflict, values } = upsert;
  if (values.length > manyLimits.records)
    throw invalidBody(`Request body has ${values.length} records; onConflict allows ${manyLimits.records}`);
  const operation = {
    update: { name: 'updateOne', family: 'update' },
    skip: { name: 'findOne', family: 'find' },
  } as const;
  // an insert that changes records, or answers stored ones, needs the right to do so
  const access = { request, space, projectSlug: space.structure.projectSlug, grants: space.grants };
  await deps.authorize({ ...access, operation: operation[onConflict.do] });
  const upserts = new Upserts(deps, upsert, signal);
  try {
    return await upserts.run();
  } finally {
    wrote(upserts.written);
  }
}
