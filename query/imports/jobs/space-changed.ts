import type { RecordSpace } from '#records/structure/record-space.ts';
import { slotsText } from '#records/structure/slots.ts';
import { type Structure, structureText } from '#records/structure/structure.ts';

/** The space changed during the import. */
export class SpaceChanged extends Error {}

/** Throws SpaceChanged if the checks of the records no longer hold. @param id the current id of the space's records */
export function assertUnchanged(space: RecordSpace, id: string, structure: Structure): void {
  const isSame = structure === space.stored || textOf(structure) === textOf(space.stored);
  if (id !== space.id || !isSame) throw new SpaceChanged();
}

function textOf(structure: Structure): string {
  return `${structureText(structure)} ${slotsText({ ...structure, typeChange: null })}`;
}
