import type { StoreList } from './store-list.ts';
import type { WritePermit } from './write-permit.ts';

/**
 * ClickHouse as the services use it, embedded or served. SQL text is complete: identifiers come from the
 * catalogue and are quoted by `quoteIdentifier`, values are rendered by `literal.ts`. Nothing is bound, and no
 * statement depends on one before it (`SET`, `USE`).
 *
 * An ApiError (503) says that the engine did nothing: it is away, or has too much to do. `UnknownOutcome` says that the
 * connection broke under a statement that writes. Any other error is the engine's, and then nothing was written.
 */
export interface Database {
  /** Whether the engine replicates the tables between the servers (`layoutOf`). A wrapper of a database passes it on. */
  readonly replicated: boolean;
  /** Servers that hold the same data: how many homes there can be. */
  readonly servers: number;
  readonly stores: StoreList;
  /** Runs a statement without a result: DDL, or a write. Resolves when it is done and durable. */
  command(statement: WriteStatement): Promise<void>;
  /** All rows of a SELECT as objects; for results that are known to be small. `sql` has no FORMAT clause. */
  rows<Row>(statement: ReadStatement): Promise<Row[]>;
  /**
   * The bytes of a SELECT in the given output format, in chunks, as the engine makes them.
   * Rejects when the statement fails before its first chunk; the iteration throws when it fails later, so that a
   * result that ends is a whole one. Stop iterating to cancel.
   */
  stream(statement: StreamStatement): Promise<AsyncIterable<Uint8Array>>;
  /** Stores rows as one block, so that all or none of them appear. Resolves when they are durable and visible. */
  insert(statement: InsertStatement): Promise<void>;
  /** Rejects when the engine doesn't answer. */
  ready(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ReadStatement {
  readonly sql: string;
  readonly signal?: AbortSignal | undefined;
  /**
   * The account of a read whose cost a client decides. Such reads have a limit of time, end when the client goes, and
   * share the engine fairly. Absent: a read of the service itself, which never waits behind those.
   */
  readonly account?: string | undefined;
  /**
   * Of several servers, the one that took the last write of this home is asked: a table's name, with its part if it
   * has parts. Absent: the home of the service's own tables (accounts, tokens, the catalogue).
   */
  readonly home?: string | undefined;
  /** A record space: all its records have to be in their table first. Absent: none have to. */
  readonly space?: string | undefined;
}

export interface StreamStatement extends ReadStatement {
  readonly format: string;
  /** The result has few rows, such as a page: it may be made in one piece where that is cheaper and it is small. */
  readonly fewRows?: boolean | undefined;
  /** Milliseconds of the engine's work until the next bytes; absent: as usual. It counts with an account only. */
  readonly timeout?: number | undefined;
  /** A SETTINGS clause without its first word: `sql` has none, because there may be others to add. */
  readonly settings?: string | undefined;
}

export interface WriteStatement extends Omit<ReadStatement, 'account'> {
  /** DDL that the engine does not pass on: each of several servers runs it. */
  readonly onEach?: boolean | undefined;
  /** Asked when the statement goes out; with one, `sql` has no SETTINGS clause. */
  readonly permit?: WritePermit | undefined;
}

export interface InsertStatement extends Omit<WriteStatement, 'sql' | 'onEach'> {
  /** Name of the table with its database. */
  readonly table: string;
  readonly columns?: readonly string[] | undefined;
  /**
   * One JSON array a line, values in the order of `columns` (JSONCompactEachRow), or without them one JSON object
   * a line, by the names of columns (JSONEachRow). Not changed until they are stored.
   */
  readonly lines: Uint8Array;
  /** Of `lines`, where they are bytes of the engine's own; absent: as said there. */
  readonly format?: 'Native' | undefined;
  /** The types of `columns`: then `lines` are RowBinary. */
  readonly types?: readonly string[] | undefined;
  /** An INSERT with a token that the table has seen is dropped, where the table keeps tokens. */
  readonly token?: string | undefined;
}
