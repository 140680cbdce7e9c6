import { invalidBody, invalidStructure, invalidValue } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { slugOfName } from '#kernel/ids/slug-of-name.ts';
import { inferredType, type TypedField, typeOfIds } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import { isSystemKey } from './field.ts';
import { maxFields, readStructure } from './parse-structure.ts';
import type { SpacePath, Structure } from './structure.ts';

/**
 * The structure that a sample record has: a field for each of its values, with all flags off. `id`, `createdAt` and
 * `updatedAt`, which every returned record has, are ignored. Throws a 400 that lists every problem: null, for
 * example, has no type.
 * @param stored the stored structure, if any: its fields keep their slugs, however they were made
 */
export function inferStructure(
  sample: unknown,
  place: SpacePath,
  stored: Structure | null = null,
): Structure {
  if (!isObject(sample)) throw invalidBody('Request body should be a JSON object: a sample record');
  const entries = Object.entries(sample).filter(([name]) => !isSystemKey(name));
  const problems: string[] = [];
  const columns = entries.map(([name, value]) => {
    const type = inferredType(value);
    if (type === null) {
      problems.push(`Value for Body field: ${shownName(name)} is null, from which no type can be inferred`);
    }
    return { name, type: type ?? typeOfIds };
  });
  return structureOfColumns(columns, place, { stored, problems });
}

/**
 * The structure that has a field for each column, with all flags off. Throws a 400 that lists every problem.
 * @param more.problems found before
 */
export function structureOfColumns(
  columns: readonly (TypedField & { readonly name: string })[],
  { projectSlug, slug }: SpacePath,
  {
    stored = null,
    problems = [],
  }: { readonly stored?: Structure | null; readonly problems?: readonly string[] } = {},
): Structure {
  const fields = columns.filter(({ name }) => !isSystemKey(name));
  if (fields.length === 0) throw invalidBody('The sample record has no field');
  if (fields.length > maxFields) {
    throw invalidBody(`The sample record has ${fields.length} fields; at most ${maxFields} are allowed`);
  }
  const recordStructure = fields.map(({ name, type, precision, scale }) => ({
    name,
    slug: storedSlug(stored, name) ?? slugOfName(name),
    type,
    ...(precision === undefined ? {} : { precision, scale }),
  }));
  const parsed = readStructure({ projectSlug, slug, recordStructure });
  if (problems.length > 0) throw invalidValue([...problems, ...parsed.problems]);
  if (parsed.structure === null) throw invalidStructure(parsed.problems);
  return parsed.structure;
}

function storedSlug(stored: Structure | null, name: string): string | null {
  const field = stored?.fields[stored.places.get(name) ?? -1];
  return field?.name === name ? field.slug : null;
}
