import type { Database } from '#engine/database.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import type { MemoryTable } from '../memory/memory-table.ts';
import type { IsKey } from '../sql/conditions-sql.ts';
import type { KeyOfRecord, NewRecord } from '../sql/new-record.ts';
import type { SpacedRow } from '../sql/record-row.ts';
import type { RecordsTable, Sql } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { SlotValue } from '../sql/terms.ts';
import type { Assignment } from '../sql/update-sql.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { ReadCache } from './kept-results.ts';
import type { ChangeListener } from './row-change.ts';
import type { StoreFind } from './store-find.ts';

/**
 * Where the records of all spaces are. There are two: `store-embedded/` for a process that has its store to itself, and
 * `store-shared/` for processes that share one. Nothing else knows which of them there is.
 */
export interface RecordStore {
  /** Whether no other process writes to the store. */
  readonly singleWriter: boolean;
  /** The engine. A statement that names a space finds all its records in the table. */
  readonly db: Database;
  readonly table: RecordsTable;
  /** Answers from before, and for how long they are right. */
  readonly results: ReadCache;
  readonly keys: StoredKeys;

  /** Which values of a space the engine finds by its index of values, rather than by reading the space. */
  rare(space: RecordSpace): IsKey | Promise<IsKey>;

  /** The records with an id, or with a value of a keyed slot, in the order of their ids. */
  lookUp(space: RecordSpace, wanted: LookupKey, signal: AbortSignal): Promise<readonly StoredRow[]>;

  /** The records of a plan, if they are in memory; null: ask `find`. */
  findNow(space: RecordSpace, plan: ReadPlan): FoundNow | null;

  /** The records of a find, by a statement that several share. Null: it needs a statement of its own. */
  find(find: StoreFind): Promise<readonly StoredRow[] | null>;

  /**
   * Does work that changes records of a space by statements, while nobody writes to it here. Until it is done, and if its
   * outcome is unknown, nothing is answered from memory or kept results. No webhook is called.
   */
  rewrite<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result>;

  /** The same for work that nobody sees: kept results stay right. */
  tidy<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result>;

  /** Ends all kept answers: the space has another structure. Rejects when other processes can't be reached. */
  invalidate(spaceId: string): Promise<void>;

  /**
   * Subscribes to the writes of all processes to a space: once this has resolved, a find sees a write, or the listener
   * hears of it. A space has one listener. Throws 501 where processes do not hear of each other's writes.
   */
  listen(spaceId: string, listener: ChangeListener, signal: AbortSignal): Promise<StopListening>;

  /** Called once the process serves requests: for work that would make its start longer. */
  started(): void;

  close(): Promise<void>;
}

/**
 * The same as it is opened. Only the wiring sees it: whatever else writes has `RecordInserts` and `RecordChanges`, whose
 * writes pass the quota and the webhooks.
 */
export interface WritableStore extends RecordStore, RecordWrites {}

export type StopListening = () => void;

/** The engine, and the table of its records. */
export type Engine = Pick<RecordStore, 'db' | 'table'>;

/** One record by its id, or those that have a value of a keyed slot. */
export type LookupKey =
  | { readonly id: string }
  | { readonly slot: string; readonly value: string | number | boolean };

/** Records in memory, until the event loop goes on. */
export interface FoundNow {
  readonly numbers: readonly number[];
  readonly table: Pick<MemoryTable, 'list' | 'record' | 'rows'>;
}

/** Which values of unique fields may be stored. */
export interface StoredKeys {
  /** False: no record of the space has the value, and none had. @param hash of the value (`hashOf`) */
  mayHave(spaceId: string, hash: string): boolean;
  /** To be called before a key is written. */
  add(spaceId: string, hash: string): void;
  /** To be called when statements wrote keys, and before their records are there. @param rows of words (`keyWordsSql`) */
  addRows(rows: Sql): Promise<void>;
}

/**
 * Writes are durable, and every read sees them. One settles when its outcome is known and not before, whatever its signal
 * says. Changes of one record come one after the other.
 */
export interface RecordWrites {
  /** Stores the records, all or none. Resolves with a promise to wait for before they are acknowledged; null: there is none. */
  insert(records: NewRecords): Promise<Pick<Changed, 'invalidated'>>;
  change(change: RecordChange): Promise<Changed>;
}

/** Values that had to be absent are stored already. */
export class ValuesTaken extends Error {
  readonly values: readonly SlotValue[];

  constructor(values: readonly SlotValue[]) {
    super('values are stored already');
    this.values = values;
  }
}

export interface NewRecords {
  readonly space: RecordSpace;
  /** One at least. */
  readonly records: readonly NewRecord[];
  readonly unique: readonly KeyOfRecord[];
  /** Values that no stored record may have, checked with the write; rejects with `ValuesTaken`. */
  readonly absent?: readonly SlotValue[] | undefined;
  /** A row that is stored with them, all or none. */
  readonly receipt?: SpacedRow | undefined;
  /** Aborted: nothing is stored if that has not begun. */
  readonly signal: AbortSignal;
  /** Asked when the write begins; without it nothing is stored. */
  readonly permit: WritePermit | null;
  /** Hears of the write in place of the usual receiver (`AnnouncedWrites`). */
  readonly events?: RecordEvents | undefined;
}

/** Changes of stored records of a space, all or none: several of one record, or the same one of several. */
export interface RecordChange {
  /** As the request sees it: its structure says which fields the answer has. */
  readonly space: RecordSpace;
  /** One at least; they are made in this order. */
  readonly steps: readonly ChangeStep[];
  /** Aborted: the change is left out when that has not begun. */
  readonly signal: AbortSignal;
  /** Asked when the write begins; without it the change is left out. */
  readonly permit?: WritePermit | null;
  /** Hears of the change in place of the usual receiver (`AnnouncedWrites`). */
  readonly events?: RecordEvents | undefined;
}

export interface ChangeStep {
  readonly id: string;
  /** In an order that depends on the set of slots only; null: the record is removed. */
  readonly assignments: readonly Assignment[] | null;
}

export interface Changed {
  /** For each step the record as it is after an update or was before a removal; null: there is no such record. */
  readonly rows: readonly (StoredRow | null)[];
  /**
   * Resolves when nobody uses the space's older data, and the calls of webhooks are stored: only then is the write
   * acknowledged. Null: there is nothing to wait for.
   */
  readonly invalidated: Promise<void> | null;
}
