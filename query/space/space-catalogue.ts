import type { Structure } from '../structure/structure.ts';
import type { RetiredSlot } from './clear-slot.ts';

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
  /** What the space begins with, as text, until it is stored; empty when nobody named any (initial-records.ts). */
  readonly initialRecords: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A space, and the newest version of its row. */
export interface FoundSpace {
  /** Null: it was dropped, or never there. */
  readonly entry: CatalogueEntry | null;
  readonly version: number;
}

/** Of the row of a space, and of its records. */
export type SpaceIds = Pick<CatalogueEntry, 'id' | 'recordsId'>;

/** What is known of record spaces, beside their records. */
export interface SpaceCatalogue {
  find(id: string, signal: AbortSignal): Promise<CatalogueEntry | null>;
  /** The same, with the newest version of its row: there is one also when the space was dropped. 0: there never was one. */
  look(id: string, signal: AbortSignal): Promise<FoundSpace>;
  /**
   * Stores a version that follows the one that was found. Resolves with true when it is durable, and with false when
   * another process was first with that version: then nothing was stored.
   */
  store(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean>;
  /** Notes that a space is dropped. Resolves with false when it is another one by now: then nothing was stored. */
  drop(entry: CatalogueEntry, signal: AbortSignal): Promise<boolean>;
  /** Spaces that were dropped before a time and may have left records. */
  leftBehind(before: Date, limit: number, signal: AbortSignal): Promise<readonly DroppedSpace[]>;
  /** Slots of fields that were dropped, of all spaces. */
  retiredSlots(signal: AbortSignal): Promise<readonly RetiredSlot[]>;
  /** Notes that nothing is left of a space. */
  swept(dropped: DroppedSpace, signal: AbortSignal): Promise<void>;
  /** Spaces of a project: of their rows here, and of their records. */
  idsOfProject(projectId: string, signal: AbortSignal): Promise<readonly SpaceIds[]>;
  /** The same of all projects of an account. */
  idsOfOwner(ownerId: string, signal: AbortSignal): Promise<readonly SpaceIds[]>;
  /** A page of the spaces of a project, by their slugs. */
  list(query: SpaceQuery, signal: AbortSignal): Promise<readonly CatalogueEntry[]>;
  /** How many spaces projects of an account have; those without any are not there. */
  countByProject(
    ownerId: string,
    projectIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>>;
  countOfOwner(ownerId: string, signal: AbortSignal): Promise<number>;
  /** There never was a record space. */
  isEmpty(signal: AbortSignal): Promise<boolean>;
  /** Resolves when the table has what was stored before: for who reads it by a statement of their own. */
  settled(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
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
