import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';
import { mergeStructure } from '../../space/merge-structure.ts';
import { withStoredTypes } from '../../space/retyped-fields.ts';
import { agreesOnTypes, structureView } from '../../space/structure-view.ts';
import { FileProblem } from '../formats/file-problem.ts';

/**
 * A space with the structure that its import request declared. Throws a FileProblem if the stored structure contradicts it
 * by now. @param declared null: the request used the stored structure
 */
export function asDeclared(space: RecordSpace, declared: Structure | null): RecordSpace {
  if (declared === null) return space;
  const isHashed = (field: Structure['fields'][number]): boolean =>
    (space.stored.lookup.get(field.slug)?.hashed ?? field.hashed) === field.hashed;
  if (!agreesOnTypes(space.stored, declared) || !declared.fields.every(isHashed))
    throw new FileProblem(null, 'the structure of the record space was changed during the import');
  return { ...space, structure: structureView(space.stored, declared) };
}

/** The structure that an import would use, without storing it. Throws a 400 if it contradicts the stored one. */
export function wouldBeDeclared(stored: Structure, requested: Structure, mutate: boolean): Structure {
  const merged = mergeStructure(stored, mutate ? withStoredTypes(requested, stored) : requested, mutate);
  return structureView(merged, requested);
}
