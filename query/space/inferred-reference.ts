import { invalidBody } from '#kernel/errors/catalogue.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import { isSystemKey } from '#records/structure/field.ts';
import { inferStructure } from '#records/structure/infer-structure.ts';
import { maxFields } from '#records/structure/parse-structure.ts';
import { type SpacePath, type Structure, structureText } from '#records/structure/structure.ts';
import type { SpaceReference } from '../input/space-reference.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { Spaces } from './spaces.ts';

/**
 * The space of a request with `infer-structure: true`: its stored structure, with new fields for the unknown keys of the
 * body. Stored fields keep their definition.
 */
export async function inferredReference(
  { spaces, structures }: { readonly spaces: Spaces; readonly structures: StructureCache },
  { ownerId, path, body }: { readonly ownerId: string; readonly path: SpacePath; readonly body: unknown },
  signal: AbortSignal,
): Promise<SpaceReference> {
  const stored = await spaces.find(uuidV5(ownerId, path.projectSlug, path.slug), signal);
  const fresh = await newValues(body, stored?.structure ?? null, signal);
  if (stored === null) {
    return { path, structure: structures.readParsed(structureJson(inferStructure(fresh, path)), path) };
  }
  if (Object.keys(fresh).length === 0) return { path, structure: null };
  const declared = structureJson(stored.structure);
  const added = structureJson(inferStructure(fresh, path));
  const recordStructure = [...declared.recordStructure, ...added.recordStructure];
  return { path, structure: structures.readParsed({ ...declared, recordStructure }, path) };
}

interface StructureJson {
  readonly recordStructure: readonly unknown[];
}

function structureJson(structure: Structure): StructureJson {
  return JSON.parse(structureText(structure)) as StructureJson;
}

/** A value for each key of one or several records that the structure does not have. */
async function newValues(
  body: unknown,
  structure: Structure | null,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const found = new Map<string, unknown>();
  const add = (record: unknown): void => {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return;
    for (const [key, value] of Object.entries(record)) {
      if (isSystemKey(key) || structure?.lookup.has(key)) continue;
      if (found.get(key) !== undefined && found.get(key) !== null) continue;
      found.set(key, value);
      if (found.size > maxFields) throw invalidBody(`The body has more than ${maxFields} new fields`);
    }
  };
  await forEachYielding(Array.isArray(body) ? body : [body], add, signal);
  return Object.fromEntries(found);
}
