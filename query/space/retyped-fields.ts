import type { Field } from '#records/structure/field.ts';
import { assignSlots, slotOf } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { isSameType } from '#records/types/field-types.ts';
import { normalizesMore } from '#records/types/normalize.ts';

/** A stored field, and the same field with another type or normalization, and so another slot. */
export interface RetypedField {
  readonly from: Field;
  readonly to: Field;
  /** Whether its values must be unique, now or by the requested structure. */
  readonly unique: boolean;
  /** Where its days begin. */
  readonly timeZone?: string;
}

/** The fields that a request's structure declares with another type than the stored one, or normalizes. */
export function retypedFields(stored: Structure, requested: Structure): readonly RetypedField[] {
  const bySlug = new Map(stored.fields.map((field) => [field.slug, field]));
  const changed = requested.fields.flatMap((field) => {
    const { slug, type, normalize, precision, scale, timeZone, defaultValue, unique } = field;
    const from = bySlug.get(slug);
    if (from === undefined) return [];
    if (isSameType(from, field) && !normalizesMore(from.normalize, normalize)) return [];
    const { precision: _, scale: __, timeZone: ___, ...kept } = from;
    return [
      {
        from,
        to: { ...kept, ...digitsOf(precision, scale), type, normalize, defaultValue },
        unique: unique || from.unique,
        ...(timeZone !== undefined && { timeZone }),
      },
    ];
  });
  const taken = [...stored.fields.map(slotOf), ...stored.retiredSlots];
  const slotted = assignSlots(
    changed.map(({ to }) => to),
    [],
    taken,
  );
  return changed.map((field, index) => ({ ...field, to: slotted[index] as Field }));
}

function digitsOf(
  precision: number | undefined,
  scale: number | undefined,
): Pick<Field, 'precision' | 'scale'> {
  return precision === undefined || scale === undefined ? {} : { precision, scale };
}

/** A request's structure with the stored types, to check the rest of it. */
export function withStoredTypes(requested: Structure, stored: Structure): Structure {
  const bySlug = new Map(stored.fields.map((field) => [field.slug, field]));
  const fields = requested.fields.map((field) => {
    const { type, normalize, precision, scale } = bySlug.get(field.slug) ?? field;
    if (isSameType({ type, ...digitsOf(precision, scale) }, field)) return { ...field, normalize };
    const { precision: _, scale: __, ...kept } = field;
    return { ...kept, ...digitsOf(precision, scale), type, normalize, defaultValue: null };
  });
  return createStructure({ ...requested, fields });
}

/*
 * The catalogue's structures during a change, step by step. New slots are reserved before they have values, and are never
 * reused: nobody sees the values that an interrupted change leaves behind.
 */

export function beginTypeChange(stored: Structure, plan: readonly RetypedField[], change: string): Structure {
  const retiredSlots = [...stored.retiredSlots, ...plan.map(({ to }) => slotOf(to))];
  return createStructure({ ...stored, retiredSlots, typeChange: change });
}

/** Null: one of the fields was changed meanwhile. */
export function endTypeChange(stored: Structure, plan: readonly RetypedField[]): Structure | null {
  const bySlot = new Map(plan.map(({ from, to }) => [slotOf(from), to]));
  const fields = stored.fields.map((field) => bySlot.get(slotOf(field)) ?? field);
  const taken = new Set(plan.map(({ to }) => slotOf(to)));
  if (fields.filter((field) => taken.has(slotOf(field))).length < plan.length) return null;
  const retiredSlots = [
    ...stored.retiredSlots.filter((slot) => !taken.has(slot)),
    ...plan.map(({ from }) => slotOf(from)),
  ];
  return createStructure({ ...stored, fields, retiredSlots, typeChange: null });
}
