import { randomUUID } from 'node:crypto';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { idInStore } from '#records/sql/id-in-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';

/** A row of record_spaces. */
export interface CatalogueEntry {
  readonly id: string;
  /** Under which its records lie. */
  readonly recordsId: string;
  /** The number of the store that they are in. */
  readonly store: number;
  /** An id under which records may lie that belong to a move of the space (move-space.ts); empty: none. */
  readonly leftRecords: string;
  readonly ownerId: string;
  readonly projectId: string;
  /** Every field has its slot. */
  readonly structure: Structure;
  /** As JSON; empty: there are none. */
  readonly rules: string;
  /** The newest version of a space counts. */
  readonly version: number;
  /** The initial records, as text, until they are stored; empty when there are none (initial-records.ts). */
  readonly initialRecords: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** `typeChange` of a space that is about to move: then nobody writes to it at all. */
const moveMark = 'move:';

export function newMove(): string {
  return `${moveMark}${randomUUID()}`;
}

export function isMoving({ typeChange }: Pick<Structure, 'typeChange'>): boolean {
  return typeChange?.startsWith(moveMark) === true;
}

/**
 * Whether the process that noted the `typeChange` of a space is dead, or has given up.
 * @param freshness others.abandonedAfter: after which the change of another process counts as left. Milliseconds
 */
export function isAbandoned(
  { structure, updatedAt }: Pick<CatalogueEntry, 'structure' | 'updatedAt'>,
  { others }: { readonly others: { readonly abandonedAfter: number } },
): boolean {
  return structure.typeChange !== null && Date.now() - updatedAt.getTime() >= others.abandonedAfter;
}

export function storedSpace({
  id,
  recordsId,
  ownerId,
  projectId,
  structure,
  rules,
}: Pick<CatalogueEntry, 'id' | 'recordsId' | 'ownerId' | 'projectId' | 'structure' | 'rules'>): RecordSpace {
  return {
    id: recordsId,
    catalogueId: id,
    ownerId,
    projectId,
    structure,
    stored: structure,
    ...(rules && { rules }),
  };
}

export interface FoundSpace {
  /** Null: it was dropped, or never there. */
  readonly entry: CatalogueEntry | null;
  readonly version: number;
}

/** The slot of a field that the space no longer has. Nobody sees its values. */
export interface RetiredSlot {
  readonly recordsId: string;
  readonly slot: string;
}

export interface DroppedSpace {
  readonly id: string;
  readonly ownerId: string;
  readonly projectId: string;
  readonly projectSlug: string;
  readonly store: number;
  readonly version: number;
}

/**
 * A space that is dropped and made again has the same row of the catalogue, and other records: those of each time lie
 * under an id of their own. So nothing that still goes on for the old one (a write, a row of a log, a kept result, the
 * key of a unique value, in this process or in another) can ever be seen in the new one. The same holds for a space that
 * moves to another store. How often a space was dropped or moved stands in the high bits of its version, which only grows.
 */
const perGeneration = 2 ** 32;

/** The id that records of a space have at a version of it. It says which store they are in. */
export function recordsIdOf({
  id,
  version,
  store,
}: Pick<CatalogueEntry, 'id' | 'version' | 'store'>): string {
  const generation = generationOf(version);
  return idInStore(generation === 0 ? id : uuidV5(id, String(generation)), store);
}

export function generationOf(version: number): number {
  return Math.floor(version / perGeneration);
}

/** The version that says that a space of this one is dropped; a space that moves goes on behind it. */
export function droppedVersion(version: number): number {
  return (generationOf(version) + 1) * perGeneration;
}

/** Where the records lay of a space that this version says is dropped. */
export function droppedRecordsId({ version, ...dropped }: DroppedSpace): string {
  return recordsIdOf({ ...dropped, version: version - 1 });
}
