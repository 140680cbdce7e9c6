import type { WritePermit } from '../../common/clickhouse/write-permit.ts';
import type { StoredRow } from '../memory/stored-row.ts';
import type { Assignment } from '../sql/update-sql.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { UniqueValue } from '../unique/unique-values.ts';
import type { NewRecord } from './new-record.ts';

/** The records of one insert. */
export interface NewRecords {
  readonly space: RecordSpace;
  /** One at least. */
  readonly records: readonly NewRecord[];
  /** What they have in unique fields. */
  readonly unique: readonly UniqueValue[];
  /** Aborted: nothing is stored if that has not begun. */
  readonly signal: AbortSignal;
  /** Asked when the write begins; without it nothing is stored. */
  readonly permit: WritePermit | null;
}

/** A change of one stored record. */
export interface RecordChange {
  /** As the request sees it: its structure says which fields the answer has. */
  readonly space: RecordSpace;
  readonly id: string;
  /** In an order that depends on the set of slots only; null: the record is removed. */
  readonly assignments: readonly Assignment[] | null;
  /** Aborted: the change is left out when that has not begun. */
  readonly signal: AbortSignal;
  /** Asked when the write begins; without it the change is left out. */
  readonly permit?: WritePermit | null;
}

export interface Changed {
  /** The record as it is after an update or was before a removal; null: there is no such record. */
  readonly row: StoredRow | null;
  /** Resolves when nobody goes by what the space held before: only then is the write acknowledged. */
  readonly told: Promise<void>;
}

/**
 * Where writes to records go: both ways make them durable and let every read see them. A write settles when its outcome
 * is known and not before, whatever its signal says. Changes of one record come one after the other.
 */
export interface RecordWrites {
  /** Stores the records, all or none. Resolves with what must be waited for before they are acknowledged. */
  insert(records: NewRecords): Promise<{ readonly told: Promise<void> }>;
  change(change: RecordChange): Promise<Changed>;
}
