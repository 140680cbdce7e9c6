import { parseStructure } from '#records/structure/parse-structure.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { assignSlots } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { type FieldInput, structureOf } from './record-client.ts';

/** A structure as a new space stores it: fields of a kind have its slots in their order. */
export function storedStructure(fields: readonly FieldInput[]): Structure {
  const { structure, problems } = parseStructure(structureOf('p', 's', fields));
  if (structure === null) throw new Error(problems.join('; '));
  return createStructure({ ...structure, fields: assignSlots(structure.fields, []) });
}

/** A space that no catalogue has. */
export function spaceWith(structure: Structure, more: Partial<RecordSpace> = {}): RecordSpace {
  const id = '00000000-0000-5000-8000-000000000000';
  return {
    id,
    catalogueId: id,
    ownerId: 'owner',
    projectId: 'project',
    structure,
    stored: structure,
    ...more,
  };
}
