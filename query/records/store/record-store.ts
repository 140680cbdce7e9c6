import type { Database } from '#engine/database.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import type { MemoryTable } from '../memory/memory-table.ts';
import type { IsSelective } from '../sql/conditions-sql.ts';
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
 * Stores the records of all spaces. There are two implementations: `store-embedded/` for a process with an exclusive store, and
 * `store-shared/` for processes that share one. Nothing else knows which of them is in use.
 */
export interface RecordStore {
  /** Whether no other process writes to the store. */
  readonly singleWriter: boolean;
  /** The engine. A statement that names a space finds all its records in the table. */
  readonly db: Database;
  readonly table: RecordsTable;
  /** Cached results, and how long they are valid. */
  readonly results: ReadCache;
  readonly keys: StoredKeys;

  /** Which values of a space the engine finds by its index of values, rather than by reading the space. */
  selectivity(space: RecordSpace): IsSelective | Promise<IsSelective>;

  /** The records with an id, or with a value of a keyed slot, in the order of their ids. */
  lookUp(space: RecordSpace, wanted: LookupKey, signal: AbortSignal): Promise<readonly StoredRow[]>;

  /** The records of a plan, if they are in memory; null: call `find`. */
  findNow(space: RecordSpace, plan: ReadPlan): FoundNow | null;

  /** The records of a find, by a statement that several share. Null: it needs a statement of its own. */
  find(find: StoreFind): Promise<readonly StoredRow[] | null>;

  /**
   * Does work that changes records of a space by statements, while this process writes nothing to the space. Until it is
   * done, and if its outcome is unknown, nothing is answered from memory or from cached results. No webhook is called.
   */
  rewrite<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result>;

  /** The same for work that changes no result of a read: cached results stay valid. */
  tidy<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result>;

  /** Drops all cached results, because the structure of the space changed. Rejects when other processes can't be reached. */
  invalidate(spaceId: string): Promise<void>;

  /**
   * Subscribes to the writes of all processes to a space: once this has resolved, either a find sees a write, or the listener
   * receives it. A space has one listener. Throws 501 where processes do not learn of each other's writes.
   */
  listen(spaceId: string, listener: ChangeListener, signal: AbortSignal): Promise<StopListening>;

  /** Called once the process serves requests, for work that would delay its start. */
  started(): void;

  close(): Promise<void>;
}

/**
 * A store with its writes. Only the wiring uses it: everything else writes through `RecordInserts` and `RecordChanges`, whose
 * writes pass through the quota and the webhooks.
 */
export interface WritableStore extends RecordStore, RecordWrites {}

export type StopListening = () => void;

/** The engine, and the table of its records. */
export type Engine = Pick<RecordStore, 'db' | 'table'>;

/** One record by its id, or the records with a value of a keyed slot. */
export type LookupKey =
  | { readonly id: string }
  | { readonly slot: string; readonly value: string | number | boolean };

/** Records in memory. Valid only in the same turn of the event loop. */
export interface FoundNow {
  readonly numbers: readonly number[];
  readonly table: Pick<MemoryTable, 'list' | 'record' | 'rows'>;
}

/** Which values of unique fields may be stored. */
export interface StoredKeys {
  /** False: no record of the space has, or ever had, the value. @param hash of the value (`hashOf`) */
  mayHave(spaceId: string, hash: string): boolean;
  /** To be called before a key is written. */
  add(spaceId: string, hash: string): void;
  /** To be called when statements wrote keys, and before their records are stored. @param rows of words (`keyWordsSql`) */
  addRows(rows: Sql): Promise<void>;
}

/**
 * Writes are durable, and every read sees them. A write settles only when its outcome is known, whatever its signal
 * does. Changes of the same record run one after another.
 */
export interface RecordWrites {
  /**
   * Stores the records, all or none. Resolves with a promise to wait for before acknowledging them; null: acknowledge at
   * once.
   */
  insert(records: NewRecords): Promise<Pick<ChangeOutcome, 'invalidated'>>;
  change(change: RecordChange): Promise<ChangeOutcome>;
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
  /** A row that is stored together with them, all or none. */
  readonly receipt?: SpacedRow | undefined;
  /** Aborted: nothing is stored, unless storing has begun. */
  readonly signal: AbortSignal;
  /** Checked when the write begins; if refused, nothing is stored. */
  readonly permit: WritePermit | null;
  /** Receives the event in place of the usual receiver (`AnnouncedWrites`). */
  readonly events?: RecordEvents | undefined;
}

/** Changes of stored records of a space, all or none: several changes of one record, or the same change of several records. */
export interface RecordChange {
  /** As the request sees it: its structure says which fields the answer has. */
  readonly space: RecordSpace;
  /** One at least, made in this order. */
  readonly steps: readonly ChangeStep[];
  /** Aborted: the change is skipped, unless it has begun. */
  readonly signal: AbortSignal;
  /** Checked when the write begins; if refused, the change is skipped. */
  readonly permit?: WritePermit | null;
  /** Receives the event in place of the usual receiver (`AnnouncedWrites`). */
  readonly events?: RecordEvents | undefined;
}

export interface ChangeStep {
  readonly id: string;
  /** In an order that depends on the set of slots only; null: the record is removed. */
  readonly assignments: readonly Assignment[] | null;
}

export interface ChangeOutcome {
  /** For each step the record after the update or before the removal; null: there is no such record. */
  readonly rows: readonly (StoredRow | null)[];
  /**
   * Resolves when no process uses older data of the space, and the calls of webhooks are stored: only then may the write be
   * acknowledged. Null: nothing to wait for.
   */
  readonly invalidated: Promise<void> | null;
}
