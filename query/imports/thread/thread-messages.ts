import type { StoredValue } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { FileReading, RecordProblem } from './file-records.ts';

// what the thread of an import and its process say to each other

/** What the thread is to do. */
export interface ThreadTask {
  readonly path: string;
  readonly space: RecordSpace;
  readonly reading: FileReading;
  /** Records with problems are left out; absent: one is enough, and nothing is stored. */
  readonly skips: boolean;
  /** What becomes of a record whose value of a slot is stored already; null: it has a problem. */
  readonly onConflict: { readonly slot: string; readonly do: 'update' | 'skip' } | null;
  /** The space has no record. */
  readonly isEmpty: boolean;
  /** Of the first record; the others count up from it. */
  readonly firstId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Bytes of the text at most. */
  readonly mostBytes: number;
}

/** How far the thread is. */
export interface ThreadProgress {
  readonly bytesRead: number;
  readonly records: number;
  readonly skipped: number;
  /** Those that changed stored ones. */
  readonly updated: number;
  /** The first ones since the last message; their number may be greater. */
  readonly problems: readonly RecordProblem[];
  readonly problemCount: number;
}

/** Its values of unique fields, by their places: which of them may be stored already? */
export interface AskedKeys {
  readonly type: 'keys';
  /** Eight characters each: what `hashOf` begins with. */
  readonly hashes: string;
}
export interface AskedValues {
  readonly type: 'values';
  readonly values: readonly { readonly slot: string; readonly value: StoredValue }[];
}
/** Which of these ids do records have? */
export interface AskedIds {
  readonly type: 'ids';
  readonly ids: readonly string[];
}
/** A record that changes a stored one. */
export interface UpsertedRecord {
  readonly line: number;
  /** By places of the structure; undefined where there is none. */
  readonly given: readonly unknown[];
}
export interface AskedUpserts {
  readonly type: 'upserts';
  readonly records: readonly UpsertedRecord[];
}
export interface Block {
  readonly type: 'block';
  readonly columns: readonly string[];
  readonly types: readonly string[];
  /** RowBinary. */
  readonly rows: Uint8Array;
  readonly records: number;
  readonly progress: ThreadProgress;
}
/** Progress; it has no answer. */
export interface Progressed {
  readonly type: 'progress';
  readonly progress: ThreadProgress;
}
export interface Ended {
  readonly type: 'ended';
  readonly progress: ThreadProgress;
  /** The file could not be read to its end. */
  readonly isCut: boolean;
}
/** Values to be hashed. */
export interface AskedHashes {
  readonly type: 'hashes';
  readonly values: readonly StoredValue[];
}
export type Question =
  | AskedKeys
  | AskedValues
  | AskedIds
  | AskedHashes
  | AskedUpserts
  | Block
  | Progressed
  | Ended;
/** Resolves with the answer of the process. */
export type Ask = <Answer extends ToThread>(message: Question, transfer?: ArrayBuffer[]) => Promise<Answer>;
export interface FromThread {
  readonly id: number;
  readonly message: Question;
}
export interface Answered {
  readonly id: number;
  readonly answer: ToThread;
  /** Of a block that is stored: its memory. */
  readonly rows?: Uint8Array;
}
/**
 * The answer to keys, values and ids: places of those that may be, or are, stored. To values to be hashed: hashes. To
 * upserts: their problems. To a block: none.
 */
export type ToThread = readonly number[] | readonly string[] | readonly RecordProblem[];
