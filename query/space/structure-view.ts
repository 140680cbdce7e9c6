import type { Field } from '#records/structure/field.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { isSameType } from '#records/types/field-types.ts';
import { normalized } from '#records/types/normalize.ts';

/**
 * A request's structure as it applies to a space. The stored structure decides whether a field is required, unique and
 * normalized, and which slot it has. Fields that are not stored, as the request may not change the structure, are left out.
 */
export function structureView(stored: Structure, requested: Structure): Structure {
  const bySlug = new Map(stored.fields.map((field) => [field.slug, field]));
  const fields = requested.fields.flatMap((field): readonly Field[] => {
    const known = bySlug.get(field.slug);
    if (known === undefined) return [];
    const { required, unique, normalize, slot, keyed, links } = known;
    const { defaultValue: value } = field;
    const defaultValue = typeof value === 'string' ? normalized(value, normalize) : value;
    const view = { ...field, defaultValue, required, unique, normalize, slot, keyed };
    return [links === undefined ? view : { ...view, links }];
  });
  return createStructure({ ...requested, fields });
}

/**
 * Whether the stored structure has the same rules for records and their writers. Names, descriptions, defaults and the
 * order of fields are not compared: the request's own apply, so nothing has to change.
 */
export function agrees(stored: Structure, requested: Structure): boolean {
  const bySlug = new Map(stored.fields.map((field) => [field.slug, field]));
  const fieldsAgree = requested.fields.every((other) => {
    const { slug, required, unique, normalize } = other;
    const field = bySlug.get(slug);
    return (
      field !== undefined &&
      isSameType(field, other) &&
      field.required === required &&
      field.unique === unique &&
      String(field.normalize) === String(normalize)
    );
  });
  const { webhooks } = requested;
  return (
    fieldsAgree &&
    agreesOnAuth(stored, requested) &&
    (webhooks === null || JSON.stringify(stored.webhooks) === JSON.stringify(webhooks))
  );
}

/** Whether a structure does not change who may do what. */
export function agreesOnAuth(stored: Structure, requested: Structure): boolean {
  const seconds = requested.auth?.sessionSeconds;
  return (
    requested.auth === null ||
    (authText(stored) === authText(requested) &&
      (seconds === undefined || seconds === stored.auth?.sessionSeconds))
  );
}

/** Whether the fields that both have, have the same types. */
export function agreesOnTypes(stored: Structure, requested: Structure): boolean {
  const bySlug = new Map(stored.fields.map((field) => [field.slug, field]));
  return requested.fields.every((field) => isSameType(bySlug.get(field.slug) ?? field, field));
}

function authText({ auth }: Structure): string {
  return auth === null ? '' : JSON.stringify([auth.active, auth.space, auth.scope]);
}
