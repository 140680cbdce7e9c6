import type { WritePermit } from './write-permit.ts';

/**
 * What the rooms ask of ClickHouse, embedded or served. SQL text is complete: identifiers come from the
 * catalogue and are quoted by `quoteIdentifier`, values are rendered by `literal.ts`. Nothing is bound, and no
 * statement depends on one before it (`SET`, `USE`).
 *
 * An ApiError (503) says that the engine did nothing: it is away, or has too much to do. `UnknownOutcome` says that the
 * connection broke under a statement that writes. Any other error is the engine's, and then nothing was written.
 */
export interface Database {
  /**
   * Name of the cluster whose servers hold the tables; undefined: there is one store. `topologyOf` says what follows. Whatever
   * wraps a database has to say it, too: tables made for one store are of no use in a cluster.
   */
  readonly cluster: string | undefined;
  /**
   * Runs a statement without a result: DDL, or a write. Resolves when it is done and durable.
   * @param permit asked when the statement goes out; with one, `sql` has no SETTINGS clause
   * @param table the record table, or table of files, that it is about, quoted as elsewhere: of several servers the
   * one that took its last write is asked. Absent: control tables
   */
  command(sql: string, signal?: AbortSignal, permit?: WritePermit, table?: string): Promise<void>;
  /** All rows of a SELECT as objects; for results that are known to be small. `sql` has no FORMAT clause. */
  rows<Row>(sql: string, signal?: AbortSignal, table?: string): Promise<Row[]>;
  /**
   * The bytes of a SELECT in the given output format, in chunks, as the engine makes them.
   * Rejects when the statement fails before its first chunk; the iteration throws when it fails later, so that a
   * result that ends is a whole one. Stop iterating to cancel.
   */
  stream(
    sql: string,
    format: string,
    signal?: AbortSignal,
    table?: string,
  ): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Stores rows as one block, so that all or none of them appear: `lines` is JSONCompactEachRow (one JSON array
   * a line, values in the order of `columns`). Resolves when the rows are durable and visible.
   * The buffer may not be changed until then. @param table quoted, with its database
   * @param permit asked when the statement goes out
   */
  insert(
    table: string,
    columns: readonly string[],
    lines: Uint8Array,
    signal?: AbortSignal,
    permit?: WritePermit,
  ): Promise<void>;
  /** Rejects when the engine doesn't answer. */
  ready(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
