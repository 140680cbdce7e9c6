import type { StoreList } from './store-list.ts';
import type { WritePermit } from './write-permit.ts';

/**
 * ClickHouse as the services use it, embedded or served. SQL text is complete: identifiers come from the
 * catalogue and are quoted by `quoteIdentifier`, values are rendered by `literal.ts`. Nothing is bound, and no
 * statement depends on one before it (`SET`, `USE`).
 *
 * An ApiError (503) means that the engine did nothing: it is down or overloaded. `UnknownOutcome` means that the connection
 * broke during a write. Any other error comes from the engine, and then nothing was written.
 */
export interface Database {
  /** Whether the engine replicates the tables between the servers (`layoutOf`). A wrapper of a database passes it on. */
  readonly replicated: boolean;
  /** The number of servers with the same data, and so of homes. */
  readonly servers: number;
  readonly stores: StoreList;
  /** Runs a statement without a result: DDL, or a write. Resolves when it is done and durable. */
  command(statement: WriteStatement): Promise<void>;
  /** All rows of a SELECT as objects, for small results. `sql` has no FORMAT clause. */
  rows<Row>(statement: ReadStatement): Promise<Row[]>;
  /**
   * Streams the bytes of a SELECT in the given output format. Rejects if the statement fails before its first chunk; the
   * iteration throws if it fails later, so that a result that ends is complete. Stop iterating to cancel.
   */
  stream(statement: StreamStatement): Promise<AsyncIterable<Uint8Array>>;
  /** Stores rows as one block, so that all or none of them appear. Resolves when they are durable and visible. */
  insert(statement: InsertStatement): Promise<void>;
  /** Rejects if the engine doesn't respond. */
  ready(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ReadStatement {
  readonly sql: string;
  readonly signal?: AbortSignal | undefined;
  /**
   * The account of a read whose cost a client decides. Such reads have a time limit, end when the client leaves, and
   * share the engine fairly. Absent: a read of the service itself, which never waits for those.
   */
  readonly account?: string | undefined;
  /**
   * The routing key: of several servers, the read goes to the one that took the last write of this home. A table's name,
   * with its part if it has parts. Absent: the home of the service's own tables (accounts, tokens, the catalogue).
   */
  readonly home?: string | undefined;
  /** A record space, whose write-ahead log has to be flushed first. Absent: not needed. */
  readonly space?: string | undefined;
}

export interface StreamStatement extends ReadStatement {
  readonly format: string;
  /** The result has few rows, such as a page: it may be computed in one piece if that is cheaper and it is small. */
  readonly fewRows?: boolean | undefined;
  /** Most milliseconds of the engine's work until the next bytes; absent: the default. Only used with an account. */
  readonly timeout?: number | undefined;
  /** The settings of a SETTINGS clause; `sql` has no such clause, because further settings may be added. */
  readonly settings?: string | undefined;
}

export interface WriteStatement extends Omit<ReadStatement, 'account'> {
  /** DDL that the engine does not replicate: each server runs it. */
  readonly onEach?: boolean | undefined;
  /** Checked when the statement is sent; with a permit, `sql` has no SETTINGS clause. */
  readonly permit?: WritePermit | undefined;
}

export interface InsertStatement extends Omit<WriteStatement, 'sql' | 'onEach'> {
  /** Name of the table with its database. */
  readonly table: string;
  readonly columns?: readonly string[] | undefined;
  /**
   * One JSON array per line, in the order of `columns` (JSONCompactEachRow), or without `columns` one JSON object per line
   * (JSONEachRow). Must not be changed until the rows are stored.
   */
  readonly lines: Uint8Array;
  /** Of `lines`, where they are bytes of the engine's own; absent: as said there. */
  readonly format?: 'Native' | undefined;
  /** The types of `columns`, if `lines` are RowBinary. */
  readonly types?: readonly string[] | undefined;
  /** If the table remembers tokens, it drops an INSERT with a token that it has seen. */
  readonly token?: string | undefined;
}
