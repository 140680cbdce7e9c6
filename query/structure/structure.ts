import type { Field } from './field.ts';

/** The declared structure of a record space. */
export interface Structure {
  /** Display name. */
  readonly name: string;
  readonly description: string;
  readonly projectSlug: string;
  readonly slug: string;
  readonly fields: readonly Field[];
  /** Fields by name and by slug. */
  readonly lookup: ReadonlyMap<string, Field>;
  /** The client asks for the space to be emptied. */
  readonly clear: boolean;
}

export function createStructure(parts: Omit<Structure, 'lookup'>): Structure {
  const lookup = new Map<string, Field>();
  for (const field of parts.fields) lookup.set(field.name, field).set(field.slug, field);
  return { ...parts, lookup };
}

/** The structure as JSON text in the form of the `structure` header; equal structures have equal text. */
export function structureText(structure: Structure): string {
  const { name, description, projectSlug, slug, fields } = structure;
  return JSON.stringify({
    name,
    description,
    projectSlug,
    slug,
    recordStructure: fields.map(({ defaultValue, ...field }) => ({
      name: field.name,
      slug: field.slug,
      type: field.type,
      required: field.required,
      unique: field.unique,
      hashed: field.hashed,
      description: field.description,
      comment: field.comment,
      ...(defaultValue === null ? {} : { defaultValue: clientValue(field.type, defaultValue) }),
    })),
  });
}

function clientValue(type: Field['type'], value: NonNullable<Field['defaultValue']>): unknown {
  return type === 'ARRAY' || type === 'OBJECT' ? (JSON.parse(String(value)) as unknown) : value;
}
