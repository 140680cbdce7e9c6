import { declaredType, fieldTypes } from '../types/field-types.ts';
import type { Field } from './field.ts';
import type { SpaceAuth } from './space-auth.ts';

/** Where a record space is in an address. */
export interface SpacePath {
  readonly projectSlug: string;
  readonly slug: string;
}

/** `webhooks` of a structure: addresses that writes will call. */
export interface Webhooks {
  readonly onInsertUrl: string | null;
  readonly onUpdateUrl: string | null;
}

/** The declared structure of a record space. */
export interface Structure {
  /** Display name. Null: not said. */
  readonly name: string | null;
  readonly description: string | null;
  readonly projectSlug: string;
  readonly slug: string;
  readonly fields: readonly Field[];
  /** Fields by name and by slug, for everything except writing: without hidden fields. */
  readonly lookup: ReadonlyMap<string, Field>;
  /** The positions in `fields` of all names and slugs. */
  readonly places: ReadonlyMap<string, number>;
  /** The client asks for the space to be emptied. */
  readonly clear: boolean;
  /** Null: not said. */
  readonly auth: SpaceAuth | null;
  readonly webhooks: Webhooks | null;
  /** Fields that login requires; empty: not said. Never part of a stored structure. */
  readonly loginParams: readonly string[];
  /** Records that the space begins with, as the client sent them; never part of a stored structure. */
  readonly initialData: readonly unknown[];
  /** Slots of fields that were dropped or changed their type. No other field gets them. */
  readonly retiredSlots: readonly string[];
  /** The change of types under way (space/type-changes.ts), during which nobody writes records. Null: none. */
  readonly typeChange: string | null;
  /** The structure of a file: its rows have only its columns, without the id and the times of records. */
  readonly ofFile?: true;
}

type Optional = 'auth' | 'webhooks' | 'loginParams' | 'initialData' | 'retiredSlots' | 'typeChange';

export function createStructure(
  parts: Omit<Structure, 'lookup' | 'places' | Optional> & Partial<Pick<Structure, Optional>>,
): Structure {
  const lookup = new Map<string, Field>();
  const places = new Map<string, number>();
  for (const [place, field] of parts.fields.entries()) {
    if (!field.hidden) lookup.set(field.name, field).set(field.slug, field);
    places.set(field.name, place).set(field.slug, place);
  }
  return {
    auth: null,
    webhooks: null,
    loginParams: [],
    initialData: [],
    retiredSlots: [],
    typeChange: null,
    ...parts,
    lookup,
    places,
  };
}

/**
 * The stored text of a structure: JSON in the form of the `structure` header. Equal structures have equal text.
 * A login token and initial data are left out: the first is a secret, the others are records.
 */
export function structureText(structure: Structure): string {
  const { name, description, projectSlug, slug, fields, auth, webhooks } = structure;
  return JSON.stringify({
    name: name ?? slug,
    description: description ?? '',
    projectSlug,
    slug,
    recordStructure: fields.map(({ defaultValue, ...field }) => ({
      name: field.name,
      slug: field.slug,
      ...declaredType(field.type),
      required: field.required,
      unique: field.unique,
      hashed: field.hashed,
      normalize: field.normalize,
      precision: field.precision,
      scale: field.scale,
      description: field.description,
      comment: field.comment,
      ...(defaultValue === null ? {} : { defaultValue: clientValue(field.type, defaultValue) }),
    })),
    ...(auth === null ? {} : { authOptions: authJson(auth) }),
    ...(webhooks === null ? {} : { webhooks }),
  });
}

function authJson({ token: _, ...auth }: SpaceAuth): object {
  return auth;
}

function clientValue(type: Field['type'], value: NonNullable<Field['defaultValue']>): unknown {
  return fieldTypes[type].isJson ? (JSON.parse(String(value)) as unknown) : value;
}
