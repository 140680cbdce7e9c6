import type { RecordSpace } from '#records/structure/record-space.ts';
import { slotsText } from '#records/structure/slots.ts';
import { type Structure, structureText } from '#records/structure/structure.ts';

/** The space changed after the import began. */
export class Changed extends Error {}

/** Throws Changed where records would not be read as they were checked. @param id of the records that the space has now */
export function assertSame(space: RecordSpace, id: string, structure: Structure): void {
  const isSame = structure === space.stored || textOf(structure) === textOf(space.stored);
  if (id !== space.id || !isSame) throw new Changed();
}

function textOf(structure: Structure): string {
  return `${structureText(structure)} ${slotsText({ ...structure, typeChange: null })}`;
}
