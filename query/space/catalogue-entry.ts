import { randomUUID } from 'node:crypto';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { idInStore } from '#records/sql/id-in-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Structure } from '#records/structure/structure.ts';

/** A row of record_spaces. */
export interface CatalogueEntry {
  readonly id: string;
  /** The id of its records. */
  readonly recordsId: string;
  /** The number of the store that has them. */
  readonly store: number;
  /** The id of records that a move of the space may have left (move-space.ts); empty: none. */
  readonly leftRecords: string;
  readonly ownerId: string;
  readonly projectId: string;
  /** Every field has its slot. */
  readonly structure: Structure;
  /** As JSON; empty: none. */
  readonly rules: string;
  /** Only the newest version of a space counts. */
  readonly version: number;
  /** The initial records, as text, until they are stored; empty when there are none (initial-records.ts). */
  readonly initialRecords: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Prefix of `typeChange` of a space that is about to move: meanwhile nobody writes to it. */
const moveMark = 'move:';

export function newMove(): string {
  return `${moveMark}${randomUUID()}`;
}

export function isMoving({ typeChange }: Pick<Structure, 'typeChange'>): boolean {
  return typeChange?.startsWith(moveMark) === true;
}

/**
 * Whether the process that began the `typeChange` of a space is dead, or has given up.
 * @param freshness others.abandonedAfter: milliseconds after which another process's change counts as abandoned
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
  /** Null: it was dropped, or never existed. */
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
 * A space that is dropped and made again keeps its row of the catalogue, but its records get another id. So whatever still
 * runs for the old space (a write, a row of a log, a cached result, the key of a unique value, in this process or another)
 * can never appear in the new one. The same holds for a space that moves to another store. The high bits of the version,
 * which only grows, count how often a space was dropped or moved.
 */
const perGeneration = 2 ** 32;

/** The id of a space's records at a version. It includes the store. */
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

/** The version that marks a space as dropped. A space that moves continues from it. */
export function droppedVersion(version: number): number {
  return (generationOf(version) + 1) * perGeneration;
}

/** The id of the records of a dropped space. */
export function droppedRecordsId({ version, ...dropped }: DroppedSpace): string {
  return recordsIdOf({ ...dropped, version: version - 1 });
}
