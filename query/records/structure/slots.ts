import { slotColumns } from '#catalogue/migrations/record-tables.ts';
import { typeEntry } from '../types/field-types.ts';
import type { Field } from './field.ts';
import type { Structure } from './structure.ts';

/**
 * Where values lie in a row of the records table:
 *
 *   n0 ... n15   NUMBER, a Float64 column each
 *   t0 ... t23   TEXT, and ARRAY and OBJECT as JSON text, a String column each
 *   b0 ... b7    BOOLEAN, a Bool column each
 *   i0 ... i7    types whose values are whole numbers of 64 bits in the engine, an Int64 column each
 *   m0, m1 ...   values without a column: only in `_doc`, the map that has all values of the record as text
 *   h0, h1 ...   hashed values, of any type: in `_hashes`, a map that nothing answers
 *   ml           of no field: which logins of the record's user have ended (common/auth/login-state.ts)
 *
 * The catalogue assigns a slot when it first stores a field. The slot changes only with the field's type.
 */
export type SlotKind = keyof typeof slotColumns | 'm' | 'h';

/** The slot of a field of a stored structure. */
export function slotOf({ slot, name }: Field): string {
  if (slot === null) throw new Error(`the field ${name} has no slot: its structure was never stored`);
  return slot;
}

export function kindOf(slot: string): SlotKind {
  return slot[0] as SlotKind;
}

const uniques = new WeakMap<Structure, readonly string[]>();

/** Slots of the unique fields: their values have keys. Writes that wait for the table share the list. */
export function uniqueSlots(structure: Structure): readonly string[] {
  let slots = uniques.get(structure);
  if (slots === undefined) {
    slots = structure.fields.filter(({ unique }) => unique).map(slotOf);
    uniques.set(structure, slots);
  }
  return slots;
}

/**
 * Fields of a structure that is about to be stored, each with its slot: its slot in the structure that is already
 * stored, or the first free one.
 * @param retired slots of fields that were dropped: a write that began before may still bring a value for one
 */
export function assignSlots(
  fields: readonly Field[],
  stored: readonly Field[],
  retired: readonly string[] = [],
): readonly Field[] {
  const known = new Map(stored.map((field) => [field.slug, field]));
  const taken = new Set([...stored.map(slotOf), ...retired]);
  const take = (kind: SlotKind, count: number): string | null => {
    for (let index = 0; index < count; index++) {
      const slot = `${kind}${index}`;
      if (taken.has(slot)) continue;
      taken.add(slot);
      return slot;
    }
    return null;
  };
  return fields.map((field) => {
    const before = known.get(field.slug);
    if (before !== undefined) {
      return { ...field, slot: before.slot, keyed: field.unique && before.unique && before.keyed };
    }
    const kind = typeEntry(field.type).column(field);
    const column = field.hashed
      ? take('h', Number.POSITIVE_INFINITY)
      : kind && take(kind, slotColumns[kind].count);
    return { ...field, slot: column ?? take('m', Number.POSITIVE_INFINITY), keyed: field.unique };
  });
}

/**
 * A key of the stored map that can't be a field's slug, which is never empty: the slots of dropped fields. Part of
 * the format of the catalogue (docs/decisions/022-one-records-table.md), as is the next one.
 */
const retiredKey = '';
/** Part of the text of a space with such slots. */
export const retiredPart = `${JSON.stringify(retiredKey)}:`;
/** Another such key, because no slug has a line break: the change of type under way. */
const typeChangeKey = '\n';

/** The map that the catalogue stores with a structure: a field's slug to its slot, and whether it is keyed. */
export function slotsText({
  fields,
  retiredSlots,
  typeChange = null,
}: Pick<Structure, 'fields' | 'retiredSlots'> & Partial<Pick<Structure, 'typeChange'>>): string {
  return JSON.stringify({
    ...Object.fromEntries(fields.map((field) => [field.slug, [slotOf(field), field.keyed]])),
    ...(retiredSlots.length === 0 ? {} : { [retiredKey]: retiredSlots }),
    ...(typeChange === null ? {} : { [typeChangeKey]: typeChange }),
  });
}

/** @param text as `slotsText` makes it */
export function typeChangeOf(text: string): string | null {
  return (JSON.parse(text) as { readonly [typeChangeKey]?: string })[typeChangeKey] ?? null;
}

/** @param text as `slotsText` makes it */
export function withSlots(
  fields: readonly Field[],
  text: string,
): Pick<Structure, 'fields' | 'retiredSlots'> {
  const { [retiredKey]: retired = [], ...rest } = JSON.parse(text) as Record<string, readonly unknown[]>;
  const slots = new Map(Object.entries(rest as Record<string, [string, boolean]>));
  return {
    fields: fields.map((field) => {
      const entry = slots.get(field.slug);
      if (entry === undefined) throw new Error(`the stored field ${field.slug} has no slot`);
      return { ...field, slot: entry[0], keyed: entry[1] };
    }),
    retiredSlots: retired as readonly string[],
  };
}
