import {
  isObject,
  type ModelField,
  type ModelType,
  type ModelValue,
  parsedJson,
  readValue,
  shownText,
} from './model-field.ts';
import { isRecordBody } from './write-rules.ts';

export interface ModelStructure {
  /** Null: not said. */
  readonly name: string | null;
  readonly description: string | null;
  readonly projectSlug: string;
  readonly slug: string;
  readonly fields: readonly ModelField[];
  readonly initialData: readonly unknown[];
  readonly clear: boolean;
}

const types = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT'];
const ours = ['id', 'createdAt', 'updatedAt'];

/** Reads a structure; null when it is not right. */
export function readStructure(text: string, path: { project: string; space: string }): ModelStructure | null {
  const raw = parsedJson(text) as Record<string, unknown> | null | undefined;
  if (!isObject(raw)) return null;
  const list = raw.recordStructure ?? raw.recordFieldStructures;
  const initialData = raw.initialData ?? [];
  if (!Array.isArray(list) || !Array.isArray(initialData)) return null;
  if (raw.projectSlug !== path.project || raw.slug !== path.space) return null;
  const fields = list.map(readField);
  if (fields.includes(null) || clash(fields as ModelField[]).length > 0) return null;
  return {
    name: typeof raw.name === 'string' ? raw.name : null,
    description: typeof raw.description === 'string' ? raw.description : null,
    projectSlug: path.project,
    slug: path.space,
    fields: fields as ModelField[],
    initialData,
    clear: raw.clear === true,
  };
}

function readField(raw: unknown): ModelField | null {
  if (!isObject(raw)) return null;
  const { name, slug, type } = raw;
  if (typeof name !== 'string' || name === '' || ours.includes(name)) return null;
  if (typeof slug !== 'string' || slug === '__proto__' || ours.includes(slug)) return null;
  if (/^$|\p{Cc}|\uFFFD|.{201}/u.test(slug)) return null;
  if (!types.includes(type as string)) return null;
  const flags = [raw.required, raw.unique, raw.hashed].map((flag) => flag ?? false);
  if (flags.some((flag) => typeof flag !== 'boolean')) return null;
  const [required, unique, hashed] = flags as [boolean, boolean, boolean];
  if (hashed && unique) return null;
  let defaultValue: ModelValue | null = null;
  if (raw.defaultValue !== undefined && raw.defaultValue !== null) {
    defaultValue = readValue(type as ModelType, raw.defaultValue);
    if (defaultValue === null) return null;
  }
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    name,
    slug,
    type: type as ModelType,
    required,
    unique,
    hashed,
    description: text(raw.description),
    comment: text(raw.comment),
    defaultValue,
  };
}

/** Names and slugs that stand for two fields. */
function clash(fields: readonly ModelField[]): string[] {
  return fields.flatMap((field, index) =>
    [field.name, field.slug].filter((word) =>
      fields.some((other, at) => at !== index && (other.name === word || other.slug === word)),
    ),
  );
}

/** The stored structure after a request with another; the fields in the way of it, if any. */
export function mergedStructure(
  stored: ModelStructure,
  wanted: ModelStructure,
  mutate: boolean,
  /** Its fields are to be stored, and not only used. */
  sets: boolean,
): { readonly structure: ModelStructure } | { readonly conflicts: readonly string[] } {
  const changed = wanted.fields.filter((field) => {
    const before = bySlug(stored, field.slug);
    return before !== undefined && (before.type !== field.type || before.hashed !== field.hashed);
  });
  const added = sets && !mutate ? wanted.fields.filter(({ slug }) => bySlug(stored, slug) === undefined) : [];
  // what can't become another thing is told first, and then what may not be added
  const conflicts = (changed.length > 0 ? changed : added).map(({ name }) => name);
  if (conflicts.length > 0) return { conflicts };
  if (!mutate) return { structure: stored };
  const fields = stored.fields.map((field) => bySlug(wanted, field.slug) ?? field);
  fields.push(...wanted.fields.filter(({ slug }) => bySlug(stored, slug) === undefined));
  const clashes = clash(fields);
  if (clashes.length > 0) return { conflicts: clashes };
  const name = wanted.name ?? stored.name;
  const description = wanted.description ?? stored.description;
  return { structure: { ...wanted, name, description, fields, initialData: [], clear: false } };
}

/** Fields that a structure has with another type. */
export function retyped(stored: ModelStructure, wanted: ModelStructure): ModelField[] {
  return wanted.fields.filter(({ slug, type }) => (bySlug(stored, slug)?.type ?? type) !== type);
}

/** A structure with the types of another one. */
export function withTypesOf(wanted: ModelStructure, stored: ModelStructure): ModelStructure {
  const fields = wanted.fields.map((field) => {
    const type = bySlug(stored, field.slug)?.type ?? field.type;
    return type === field.type ? field : { ...field, type, defaultValue: null };
  });
  return { ...wanted, fields };
}

export function bySlug({ fields }: ModelStructure, slug: string): ModelField | undefined {
  return fields.find((field) => field.slug === slug);
}

/** A field by what a request calls it. */
export function fieldOf({ fields }: ModelStructure, word: string): ModelField | undefined {
  return fields.find((field) => field.name === word || field.slug === word);
}

/** A request's structure with the flags that count: those of the stored one. */
export function viewOf(stored: ModelStructure, wanted: ModelStructure): ModelStructure {
  const fields = wanted.fields.flatMap((field) => {
    const known = bySlug(stored, field.slug);
    return known === undefined ? [] : [{ ...field, required: known.required, unique: known.unique }];
  });
  return { ...wanted, fields };
}

/** Fields whose flag is off in one structure and on in another. */
export function turnedOn(
  before: ModelStructure,
  after: ModelStructure,
  flag: 'required' | 'unique',
): ModelField[] {
  return after.fields.filter((field) => field[flag] && bySlug(before, field.slug)?.[flag] === false);
}

/** Whether a structure lacks nothing of another, and has its flags. */
export function hasAll(stored: ModelStructure, wanted: ModelStructure): boolean {
  return wanted.fields.every((field) => {
    const own = bySlug(stored, field.slug);
    return (
      own !== undefined &&
      own.type === field.type &&
      own.required === field.required &&
      own.unique === field.unique
    );
  });
}

/** A structure as answers show it. */
export function shownStructure({ name, description, projectSlug, slug, fields }: ModelStructure): unknown {
  const recordStructure = fields.map(({ defaultValue, ...field }) =>
    defaultValue === null
      ? field
      : { ...field, defaultValue: JSON.parse(shownText(field.type, defaultValue)) as unknown },
  );
  const texts = { name: name ?? slug, description: description ?? '' };
  return { ...texts, projectSlug, slug, recordStructure, recordFieldStructures: recordStructure };
}

/**
 * The structure of a sample record; null for what is none, or the names of values that have no type.
 * @param stored fields of it keep their slugs
 */
export function inferredStructure(
  sample: unknown,
  path: { project: string; space: string },
  stored: ModelStructure | undefined,
): { readonly text: string } | { readonly typeless: readonly string[] } | null {
  if (!isRecordBody(sample)) return null;
  const entries = Object.entries(sample).filter(([name]) => !ours.includes(name));
  if (entries.length === 0) return null;
  const typeless = entries.filter(([, value]) => value === null).map(([name]) => name);
  if (typeless.length > 0) return { typeless };
  const recordStructure = entries.map(([name, value]) => ({
    name,
    slug: stored?.fields.find((field) => field.name === name)?.slug ?? slugOf(name),
    type: Array.isArray(value)
      ? 'ARRAY'
      : ({ string: 'TEXT', object: 'OBJECT' }[typeof value as string] ?? (typeof value).toUpperCase()),
  }));
  return { text: JSON.stringify({ projectSlug: path.project, slug: path.space, recordStructure }) };
}

/** docs/api.md#structure */
function slugOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const [first = ''] = words;
  const isCamelCase = words.length === 1 && !/^[-\p{Lu}\p{Lt}]/u.test(first);
  if (isCamelCase) return first.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const parts = words.length === 1 ? first.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u) : words;
  const slug = parts.join('-').toLowerCase().replace(/^-+/, '');
  if (slug === '') return 'field';
  return slug === 'id' ? 'id-2' : slug;
}
