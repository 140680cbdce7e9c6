/** A record as a file has it. */
export interface SourceRecord {
  /** From 1: where it begins in a text, and its number in a table. */
  readonly line: number;
  /** In the order of the columns: texts of CSV, and values of a table. Absent: it is JSON. */
  readonly cells?: readonly unknown[];
  /** Of JSON. */
  readonly value?: unknown;
  /** What is wrong with its text, as the end of a sentence. */
  readonly problem?: string;
}

export interface SourcePiece {
  /** Null: they have no names. */
  readonly columns: readonly string[] | null;
  /** To be read once, before the next piece. */
  readonly records: Iterable<SourceRecord>;
  /** Of the file. */
  readonly bytesRead: number;
  /** Nothing follows. */
  readonly isLast: boolean;
}
