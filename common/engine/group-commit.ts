import { ApiError } from '#kernel/errors/api-error.ts';
import { deadlineExceeded } from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import type { Database } from './database.ts';
import {
  type QueuedItem,
  type StatementItem,
  StatementQueues,
  type StatementQueuesOptions,
} from './statement-queues.ts';
import { joinPermits, permittedWrites, StatementTimeout, type WritePermit } from './write-permit.ts';

/** The rows of one request, which are stored atomically. */
export interface RowBatch extends Rows {
  /** Batches with the same home share INSERTs. */
  readonly home: string;
  readonly account: string;
  /** Rows of another table that must exist with these: they are stored first. */
  readonly before?: Rows | undefined;
  /** Values that no stored row may have, for `check`; and work between the check and the INSERT. */
  readonly absent?: { readonly values: readonly unknown[]; readonly begin: () => Promise<void> } | undefined;
  /** A SELECT that finds a row if any of these rows is stored, and so all of them. */
  readonly proof: string;
  /** The key of a lock; absent: none. */
  readonly lockKey?: string | undefined;
  /** Aborted: the rows are dropped if their INSERT has not begun. */
  readonly signal: AbortSignal;
  /** Checked when the INSERT begins; the rows are dropped if it has expired. */
  readonly permit?: WritePermit | null | undefined;
}

export interface Rows {
  readonly table: string;
  /** Absent: `lines` is JSONEachRow. */
  readonly columns?: readonly string[] | undefined;
  /** The types of `columns`: then `lines` are RowBinary. */
  readonly types?: readonly string[] | undefined;
  /** JSONCompactEachRow, each line with its line break. */
  readonly lines: Uint8Array;
}

type QueuedBatch = QueuedItem<RowBatch & StatementItem, void>;

/** Null: the batch can be stored. */
type Check = (batches: readonly RowBatch[]) => Promise<readonly (Error | null)[]>;
const nothingToCheck: Check = async (batches) => batches.map(() => null);

/** Deadline of the search for rows of a failed INSERT. Milliseconds. */
const checkTimeout = 10_000;

/** Group commit: one INSERT stores the rows of several requests. */
export class GroupCommit {
  readonly #db: Database;
  readonly #queues: StatementQueues<RowBatch & StatementItem, void>;
  readonly #check: Check;

  /**
   * @param args.insertLimit most bytes of an INSERT; a request's rows stay together even beyond it
   * @param args.check called before an INSERT with its batches; returns the reasons why some can't be stored
   */
  constructor(
    args: {
      readonly db: Database;
      readonly insertLimit: number;
      readonly check?: Check;
    } & Pick<
      StatementQueuesOptions<RowBatch & StatementItem, void>,
      'pendingLimit' | 'lock' | 'gather' | 'linger' | 'pace' | 'onStatement'
    >,
  ) {
    const { db, insertLimit, check = nothingToCheck, ...rest } = args;
    this.#db = db;
    this.#check = check;
    this.#queues = new StatementQueues({
      ...rest,
      full: 'too many rows wait to be stored',
      sizeLimit: insertLimit,
      run: (gathered) => this.#store(gathered),
    });
  }

  /**
   * Stores the rows together with other requests' rows: only one INSERT per home runs at a time, and further rows gather
   * meanwhile. Settles only when the outcome of these rows is known, even if the signal is aborted: a running INSERT is
   * not interrupted. Rejects with 503 when too many bytes wait.
   */
  write(batch: RowBatch): Promise<void> {
    const { home, table, columns = [], lines, before } = batch;
    const size = lines.byteLength + (before?.lines.byteLength ?? 0);
    const { account, absent, proof, lockKey, signal, permit } = batch;
    return this.#queues.add({
      queue: home,
      shape: `${table} ${columns.join()} ${batch.types?.join() ?? ''}`,
      size,
      account,
      lockKey,
      signal,
      home,
      table,
      columns: batch.columns,
      types: batch.types,
      lines,
      before,
      absent,
      proof,
      permit,
    });
  }

  /** Never rejects; every entry is settled by its own outcome. */
  async #store(gathered: readonly QueuedBatch[]): Promise<void> {
    const allowed = permittedWrites(gathered, ({ reject }, reason) => reject(reason));
    const isChecked = allowed.some(({ item: { absent } }) => absent !== undefined);
    const entries = isChecked ? await this.#checked(allowed) : allowed;
    const [first] = entries;
    if (first === undefined) return;
    const { home } = first.item;
    const permit = joinPermits(entries);
    try {
      const before = entries.flatMap(({ item }) => item.before ?? []);
      // no request's signal: others wait for this INSERT too, and its outcome must be known
      if (before.length > 0) await this.#db.insert({ ...joined(before), home, permit });
      await this.#db.insert({ ...joined(entries.map(({ item }) => item)), home, permit });
    } catch (error) {
      await this.#settleFailure(entries, error);
      return;
    }
    for (const { resolve } of entries) resolve();
  }

  /** The batches that can be stored; the others are settled. */
  async #checked(entries: readonly QueuedBatch[]): Promise<readonly QueuedBatch[]> {
    const asked = entries.filter(({ item: { absent } }) => absent !== undefined);
    const refused = new Set<QueuedBatch>();
    const refuse = (entry: QueuedBatch, reason: unknown): void => {
      refused.add(entry);
      entry.reject(reason);
    };
    try {
      const reasons = await this.#check(asked.map(({ item }) => item));
      const begin = async (entry: QueuedBatch, at: number): Promise<void> => {
        if (reasons[at] !== null) return refuse(entry, reasons[at]);
        await entry.item.absent?.begin().catch((error: unknown) => refuse(entry, error));
      };
      await Promise.all(asked.map(begin));
    } catch (error) {
      for (const entry of asked) refuse(entry, error);
    }
    return entries.filter((entry) => !refused.has(entry));
  }

  async #settleFailure(entries: readonly QueuedBatch[], error: unknown): Promise<void> {
    const failAll = (cause = error): void => {
      const reason = cause instanceof StatementTimeout ? deadlineExceeded(cause.timeLimit) : cause;
      for (const { reject } of entries) reject(reason);
    };
    // a refusal before the engine saw anything, such as 503: a retry would add to the load
    if (error instanceof ApiError) {
      const left = permittedWrites(entries, ({ reject }, reason) => reject(reason));
      // a permit expired while the INSERT waited for the engine: write the rest
      return left.length < entries.length ? this.#store(left) : failAll();
    }
    try {
      // after a broken connection the rows may exist; they are one block, so one row proves all
      if (await this.#isStored(entries[0] as QueuedBatch)) {
        for (const { resolve } of entries) resolve();
        return;
      }
    } catch {
      return failAll();
    }
    // the INSERT behind a broken connection may still take effect, and a retry would store the rows twice
    if (error instanceof UnknownOutcome) return failAll(error.refusal);
    if (entries.length === 1) return failAll();
    // one request's rows may make the INSERT fail: bisect to find them
    const middle = entries.length >> 1;
    await this.#store(entries.slice(0, middle));
    await this.#store(entries.slice(middle));
  }

  async #isStored({ item: { proof, home } }: QueuedBatch): Promise<boolean> {
    return (await this.#db.rows({ sql: proof, signal: AbortSignal.timeout(checkTimeout), home })).length > 0;
  }
}

function joined(batches: readonly Rows[]): Rows {
  const [{ table, columns, types } = { table: '' }] = batches;
  const lines =
    batches.length === 1 ? (batches[0] as Rows).lines : Buffer.concat(batches.map(({ lines }) => lines));
  return {
    table,
    lines,
    ...(columns === undefined ? {} : { columns }),
    ...(types === undefined ? {} : { types }),
  };
}
