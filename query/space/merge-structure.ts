import { structureConflict } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field } from '#records/structure/field.ts';
import { maxFields } from '#records/structure/parse-structure.ts';
import { assignSlots } from '#records/structure/slots.ts';
import type { SpaceAuth } from '#records/structure/space-auth.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { isSameType, typeText } from '#records/types/field-types.ts';
import { normalizesMore } from '#records/types/normalize.ts';

/**
 * Merges a request's structure into the stored one. Fields are identified by their slugs: new ones are added, others get
 * the request's definition, and fields that the request lacks stay, as their values do. Throws a 400 that lists every field
 * that can't be merged.
 */
export function mergeStructure(stored: Structure, requested: Structure, mutate: boolean): Structure {
  const bySlug = new Map(stored.fields.map((field) => [field.slug, field]));
  const problems = requested.fields.flatMap(
    (field) => problemOf(bySlug.get(field.slug), field, mutate) ?? [],
  );
  if (problems.length > 0) throw structureConflict(problems);
  if (!mutate) return stored;
  const replaced = new Map(requested.fields.map((field) => [field.slug, field]));
  const fields = [
    ...stored.fields.map((field) => replaced.get(field.slug) ?? field),
    ...requested.fields.filter((field) => !bySlug.has(field.slug)),
  ];
  const clashes = nameClashes(fields);
  if (clashes.length > 0) throw structureConflict(clashes);
  if (fields.length > maxFields) {
    throw structureConflict([
      `With the stored fields there would be ${fields.length}; at most ${maxFields} are allowed`,
    ]);
  }
  return createStructure({
    ...requested,
    fields: assignSlots(fields, stored.fields, stored.retiredSlots),
    retiredSlots: stored.retiredSlots,
    clear: false,
    loginParams: [],
    initialData: [],
    // a request without these leaves them as they are
    name: requested.name ?? stored.name,
    description: requested.description ?? stored.description,
    auth: mergedAuth(stored.auth, requested.auth),
    webhooks: requested.webhooks ?? stored.webhooks,
  });
}

function mergedAuth(stored: SpaceAuth | null, requested: SpaceAuth | null): SpaceAuth | null {
  if (requested === null) return stored;
  // clients that know nothing of it send all other parts with each request
  const { sessionSeconds = requested.sessionSeconds } = stored ?? {};
  return { ...(sessionSeconds === undefined ? {} : { sessionSeconds }), ...requested, token: null };
}

function problemOf(stored: Field | undefined, requested: Field, mutate: boolean): string | null {
  const name = shownName(requested.name);
  if (stored === undefined) return null;
  if (!isSameType(stored, requested))
    return `Field ${name} is stored as ${typeText(stored)} and can not become ${typeText(requested)}`;
  // an inferred structure is outdated when another request has removed a normalization
  if (mutate && normalizesMore(stored.normalize, requested.normalize))
    return `Field ${name} is no longer normalized; try again`;
  if (stored.hashed === requested.hashed) return null;
  const [is, wanted] = [stored, requested].map(({ hashed }) => (hashed ? 'hashed' : 'unhashed'));
  return `Field ${name} is stored ${is} and can not become ${wanted}`;
}

/** Problems of fields with equal names: a request's field may have the name of a stored field that the request lacks. */
function nameClashes(fields: readonly Field[]): string[] {
  const owners = new Map<string, Field>();
  const found = new Set<string>();
  for (const field of fields) {
    for (const word of [field.name, field.slug]) {
      const owner = owners.get(word) ?? field;
      owners.set(word, owner);
      if (owner !== field) {
        found.add(
          `Field ${shownName(word)} would stand for two stored fields, with the slugs ` +
            `${shownName(owner.slug)} and ${shownName(field.slug)}`,
        );
      }
    }
  }
  return [...found];
}
