import type { RecordSpace } from '#records/structure/record-space.ts';
import type { StoredValue } from '#records/types/field-type.ts';
import type { FileReading, RecordProblem } from './file-records.ts';

// the messages between the thread of an import and its process

/** The work of the thread. */
export interface ThreadTask {
  readonly path: string;
  readonly space: RecordSpace;
  readonly reading: FileReading;
  /** Whether records with problems are left out; otherwise one problem is enough to store nothing. */
  readonly skips: boolean;
  /** What to do with a record whose value of the slot is already stored; null: report a problem. */
  readonly onConflict: { readonly slot: string; readonly do: 'update' | 'skip' } | null;
  /** Whether the space has no records. */
  readonly isEmpty: boolean;
  /** The id of the first record; the others count up from it. */
  readonly firstId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Bytes of text that the file may have. */
  readonly mostBytes: number;
}

/** The progress of the thread. */
export interface ThreadProgress {
  readonly bytesRead: number;
  readonly records: number;
  readonly skipped: number;
  /** Records that updated stored ones. */
  readonly updated: number;
  /** The first problems since the last message; `problemCount` counts all. */
  readonly problems: readonly RecordProblem[];
  readonly problemCount: number;
}

/** Which of these values of unique fields may already be stored? */
export interface KeysRequest {
  readonly type: 'keys';
  /** The first eight characters of `hashOf` each. */
  readonly hashes: string;
}
/** Which of these values are already stored? */
export interface ValuesRequest {
  readonly type: 'values';
  readonly values: readonly { readonly slot: string; readonly value: StoredValue }[];
}
/** Which of these ids are already stored? */
export interface IdsRequest {
  readonly type: 'ids';
  readonly ids: readonly string[];
}
/** A record that updates a stored one. */
export interface UpsertedRecord {
  readonly line: number;
  /** In the order of the structure's fields; undefined: no value. */
  readonly rawValues: readonly unknown[];
}
/** Update stored records by these. */
export interface UpsertsRequest {
  readonly type: 'upserts';
  readonly records: readonly UpsertedRecord[];
}
/** Store these rows. */
export interface BlockMessage {
  readonly type: 'block';
  readonly columns: readonly string[];
  readonly types: readonly string[];
  /** RowBinary. */
  readonly rows: Uint8Array;
  readonly records: number;
  readonly progress: ThreadProgress;
}
/** The progress; its reply is empty. */
export interface ProgressMessage {
  readonly type: 'progress';
  readonly progress: ThreadProgress;
}
/** The last message of the thread. */
export interface EndMessage {
  readonly type: 'ended';
  readonly progress: ThreadProgress;
  /** Whether the file could not be read to its end. */
  readonly isCut: boolean;
}
/** Hash these values. */
export interface HashesRequest {
  readonly type: 'hashes';
  readonly values: readonly StoredValue[];
}
/** Which files of the project have these names? */
export interface FilesRequest {
  readonly type: 'files';
  readonly names: readonly string[];
}
export type ThreadMessage =
  | KeysRequest
  | ValuesRequest
  | IdsRequest
  | HashesRequest
  | FilesRequest
  | UpsertsRequest
  | BlockMessage
  | ProgressMessage
  | EndMessage;
/** Resolves with the reply of the process. */
export type SendMessage = <Answer extends ThreadReply>(
  message: ThreadMessage,
  transfer?: ArrayBuffer[],
) => Promise<Answer>;
export interface MessageEnvelope {
  readonly id: number;
  readonly message: ThreadMessage;
}
export interface ReplyEnvelope {
  readonly id: number;
  readonly answer: ThreadReply;
  /** The memory of a stored block, to be reused. */
  readonly rows?: Uint8Array;
}
/**
 * To keys, values and ids: the places of those that may be, or are, stored. To hashes: the hashes. To files:
 * the texts of their answers, empty for a name without a file. To upserts: their
 * problems. To others: an empty list.
 */
export type ThreadReply = readonly number[] | readonly string[] | readonly RecordProblem[];
