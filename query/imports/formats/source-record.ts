import type { TypedField } from '#records/types/field-types.ts';

/** A record of a file, before any check. */
export interface SourceRecord {
  /** From 1: the line where it begins in a text, or its row in a table. */
  readonly line: number;
  /** Texts of CSV or values of a table, in the order of the columns. Absent for JSON. */
  readonly cells?: readonly unknown[];
  /** The value of JSON. */
  readonly value?: unknown;
  /** The problem of its text, as a clause. */
  readonly problem?: string;
}

/** Some records of a file, in order. */
export interface SourcePiece {
  /** Names; null: the file has none. */
  readonly columns: readonly string[] | null;
  /** The types that the file says, in the order of the columns; null: texts. Absent: the format has no types. */
  readonly types?: readonly (TypedField | null)[];
  /** Read them once, before the next piece. */
  readonly records: Iterable<SourceRecord>;
  /** Bytes of the file that were read. */
  readonly bytesRead: number;
  /** Whether the file ends with it. */
  readonly isLast: boolean;
}
