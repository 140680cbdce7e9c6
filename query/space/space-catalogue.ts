import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';

/** A row of record_spaces. */
export interface CatalogueEntry {
  readonly id: string;
  /** Under which its records lie. */
  readonly recordsId: string;
  readonly ownerId: string;
  readonly projectId: string;
  /** Every field has its slot. */
  readonly structure: Structure;
  /** The newest version of a space counts. */
  readonly version: number;
  /** The initial records, as text, until they are stored; empty when there are none (initial-records.ts). */
  readonly initialRecords: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The space of a row, with its stored structure. */
export function storedSpace({
  id,
  recordsId,
  ownerId,
  projectId,
  structure,
}: Pick<CatalogueEntry, 'id' | 'recordsId' | 'ownerId' | 'projectId' | 'structure'>): RecordSpace {
  return { id: recordsId, catalogueId: id, ownerId, projectId, structure, stored: structure };
}

/** A space, and the newest version of its row. */
export interface FoundSpace {
  /** Null: it was dropped, or never there. */
  readonly entry: CatalogueEntry | null;
  readonly version: number;
}

/** Of the row of a space, and of its records. */
export type SpaceIds = Pick<CatalogueEntry, 'id' | 'recordsId'>;

/** The slot of a field that the space no longer has. Nobody sees its values. */
export interface RetiredSlot {
  readonly recordsId: string;
  readonly slot: string;
}

/** A space that was dropped. */
export interface DroppedSpace {
  readonly id: string;
  readonly ownerId: string;
  readonly projectId: string;
  readonly projectSlug: string;
  readonly version: number;
}

/** Which spaces of a project somebody wants to see. */
export interface SpaceQuery {
  readonly projectId: string;
  readonly limit: number;
  /** The last slug of the page before. */
  readonly after?: string | undefined;
  /** Part of the slug or of the name, in whatever case. */
  readonly search?: string | undefined;
}
