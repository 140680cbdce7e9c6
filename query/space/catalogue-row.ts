import { overloaded } from '#kernel/errors/catalogue.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { slotsText, typeChangeOf, withSlots } from '#records/structure/slots.ts';
import { createStructure, structureText } from '#records/structure/structure.ts';
import { type CatalogueEntry, type DroppedSpace, recordsIdOf } from './catalogue-entry.ts';

/** Replaces `initial_records` of a dropped space whose records may not be deleted yet. */
export const leftRecords = 'left';

export interface CatalogueRow {
  owner_id: string;
  project_id: string;
  structure: string;
  slots: string;
  rules: string;
  initial_records: string;
  store: number;
  left_records: string;
  version: number;
  created: number;
  updated: number;
}

/** Doubles hold versions and times exactly; 64-bit integers would depend on output settings. */
export const selection = `owner_id, project_id, structure, slots, rules, initial_records, store, left_records, toFloat64(version) AS version,
  toFloat64(toUnixTimestamp64Milli(created_at)) AS created, toFloat64(toUnixTimestamp64Milli(updated_at)) AS updated`;

/** The columns of a version of a space. The engine refuses lone surrogates; structures have them escaped. */
export function valuesOf(entry: CatalogueEntry) {
  const { structure } = entry;
  return {
    id: entry.id,
    owner_id: entry.ownerId,
    project_id: entry.projectId,
    project_slug: structure.projectSlug,
    slug: structure.slug,
    name: (structure.name ?? structure.slug).toWellFormed(),
    description: (structure.description ?? '').toWellFormed(),
    structure: structureText(structure),
    slots: slotsText(structure),
    rules: entry.rules,
    created_at: timestampText(entry.createdAt),
    updated_at: timestampText(entry.updatedAt),
    initial_records: entry.initialRecords,
    store: entry.store,
    left_records: entry.leftRecords,
  };
}

export function catalogueLine(entry: CatalogueEntry): Uint8Array {
  return Buffer.from(`${JSON.stringify({ ...valuesOf(entry), version: entry.version })}\n`);
}

/** Throws a 503 for a structure that a newer version has stored, as during an upgrade: a newer process may answer. */
export function entryOf(id: string, row: CatalogueRow): CatalogueEntry {
  const { structure, problems } = parseStructure(row.structure);
  if (structure === null) {
    throw overloaded(
      'this process is older than the structure of the record space',
      new Error(`the stored structure of ${id} can not be read: ${problems.join('; ')}`),
    );
  }
  const { fields, retiredSlots } = withSlots(structure.fields, row.slots);
  return {
    id,
    recordsId: recordsIdOf({ ...row, id }),
    store: row.store,
    leftRecords: row.left_records,
    ownerId: row.owner_id,
    projectId: row.project_id,
    structure: createStructure({ ...structure, fields, retiredSlots, typeChange: typeChangeOf(row.slots) }),
    rules: row.rules,
    version: row.version,
    initialRecords: row.initial_records,
    createdAt: new Date(row.created),
    updatedAt: new Date(row.updated),
  };
}

/** The row of a dropped space. Its slug is empty, unlike any space's. */
export function droppedRow(
  { id, ownerId, projectId, projectSlug, store }: DroppedSpace,
  initialRecords: string,
) {
  const now = timestampText(new Date());
  return {
    id,
    owner_id: ownerId,
    project_id: projectId,
    project_slug: projectSlug,
    slug: '',
    name: '',
    description: '',
    structure: '',
    slots: '',
    rules: '',
    created_at: now,
    updated_at: now,
    initial_records: initialRecords,
    store,
    left_records: '',
  };
}
