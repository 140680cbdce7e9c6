import { slotOf } from './slots.ts';
import type { Structure } from './structure.ts';

const known = new WeakMap<Structure, readonly string[]>();

/** Of the fields whose values have keys in the table of keys. Writes that wait for the table share the list. */
export function uniqueSlots(structure: Structure): readonly string[] {
  let slots = known.get(structure);
  if (slots === undefined) {
    slots = structure.fields.filter(({ unique }) => unique).map(slotOf);
    known.set(structure, slots);
  }
  return slots;
}
