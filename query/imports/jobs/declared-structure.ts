import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';
import { mergeStructure } from '../../space/merge-structure.ts';
import { withStoredTypes } from '../../space/retyped-fields.ts';
import { agreesOnTypes, structureView } from '../../space/structure-view.ts';
import { FileProblem } from '../formats/file-problem.ts';

/**
 * A space as the request that began an import saw it. Throws a FileProblem where it can't be seen so any more.
 * @param declared the structure of that request; null: the stored one
 */
export function asDeclared(space: RecordSpace, declared: Structure | null): RecordSpace {
  if (declared === null) return space;
  const isHashed = (field: Structure['fields'][number]): boolean =>
    (space.stored.lookup.get(field.slug)?.hashed ?? field.hashed) === field.hashed;
  if (!agreesOnTypes(space.stored, declared) || !declared.fields.every(isHashed))
    throw new FileProblem(null, 'the structure of the record space was changed meanwhile');
  return { ...space, structure: structureView(space.stored, declared) };
}

/** The structure by which an import would go, if nothing is changed yet. Throws a 400 where the stored one is in its way. */
export function wouldBeDeclared(stored: Structure, requested: Structure, mutate: boolean): Structure {
  const merged = mergeStructure(stored, mutate ? withStoredTypes(requested, stored) : requested, mutate);
  return structureView(merged, requested);
}
