import { ApiError } from '../errors/api-error.ts';
import { deadlineExceeded } from '../errors/catalogue.ts';
import type { Database } from './database.ts';
import { createTableQueues, type Gather, type Queued, type Waiting } from './table-queues.ts';
import type { TableTurns } from './table-turns.ts';
import { UnknownOutcome } from './unknown-outcome.ts';
import { joinPermits, permitted, StatementTimeout, type WritePermit } from './write-permit.ts';

/** The rows of one request, which are stored all or not at all. */
export interface RowBatch {
  /** Quoted, with its database. */
  readonly table: string;
  /** Quoted. */
  readonly columns: readonly string[];
  /** JSONCompactEachRow, each line with its line break. */
  readonly lines: Uint8Array;
  /** A condition that holds for one of the rows and for no other: when it is there, all are. */
  readonly proof: string;
  /** Aborted: the rows are left out when their INSERT has not begun. */
  readonly signal: AbortSignal;
  /** Asked when their INSERT begins; without it the rows are left out. */
  readonly permit?: WritePermit | null;
}

export interface GroupCommit {
  /**
   * Stores the rows together with those of other requests: one INSERT for a table runs at a time, and the next ones
   * gather meanwhile. Settles with the outcome of these rows and not before it is known, whatever the signal says:
   * an INSERT that has begun is not interrupted. Rejects with 503 when too many bytes wait.
   */
  write(batch: RowBatch): Promise<void>;
}

type Entry = Waiting<RowBatch & Queued, void>;

/** Milliseconds for the look at what a failed INSERT left. */
const checkTimeout = 10_000;

/**
 * @param args.pendingLimit bytes of rows that may wait or be written at once in this process
 * @param args.insertLimit bytes that are gathered for one INSERT; a request's rows stay together even beyond it
 */
export function createGroupCommit(args: {
  db: Database;
  pendingLimit: number;
  insertLimit: number;
  /** Shared with others that change the same tables; absent: there are none. */
  turns?: TableTurns;
  /** Absent: what comes while an INSERT is under way is the next one. */
  gather?: Gather;
}): GroupCommit {
  const { db, pendingLimit, insertLimit, turns, gather } = args;

  /** Never rejects; every entry hears of its own outcome. */
  const store = async (table: string, gathered: readonly Entry[]): Promise<void> => {
    const entries = permitted(gathered, ({ reject }, reason) => reject(reason));
    const [first] = entries;
    if (first === undefined) return;
    try {
      const lines = entries.length === 1 ? first.lines : Buffer.concat(entries.map(({ lines }) => lines));
      // no request's signal: others wait for this INSERT too, and its outcome must be known
      await db.insert(table, first.columns, lines, undefined, joinPermits(entries));
    } catch (error) {
      await settleFailure(table, entries, error);
      return;
    }
    for (const { resolve } of entries) resolve();
  };

  const settleFailure = async (table: string, entries: readonly Entry[], error: unknown): Promise<void> => {
    const failAll = (): void => {
      const reason = error instanceof StatementTimeout ? deadlineExceeded(error.timeLimit) : error;
      for (const { reject } of entries) reject(reason);
    };
    // a refusal before the engine saw anything, such as 503: trying again would add to the load
    if (error instanceof ApiError) {
      const left = permitted(entries, ({ reject }, reason) => reject(reason));
      // a permit ran out while the INSERT waited for the engine: the rest is written
      return left.length < entries.length ? store(table, left) : failAll();
    }
    // in a cluster the rows lie on several shards, and one row tells nothing of the others
    if (error instanceof UnknownOutcome && db.cluster !== undefined) return failAll();
    try {
      // a connection that breaks does not say whether the rows are there; they are one block, so one row tells
      if (await isStored(table, (entries[0] as Entry).proof)) {
        for (const { resolve } of entries) resolve();
        return;
      }
    } catch {
      return failAll();
    }
    // what a broken connection hides may still come, and would be there twice
    if (entries.length === 1 || error instanceof UnknownOutcome) return failAll();
    // one request's rows may have failed the others: halves find it in few steps
    const middle = entries.length >> 1;
    await store(table, entries.slice(0, middle));
    await store(table, entries.slice(middle));
  };

  const isStored = async (table: string, proof: string): Promise<boolean> => {
    const sql = `SELECT 1 FROM ${table} WHERE ${proof} LIMIT 1`;
    return (await db.rows(sql, AbortSignal.timeout(checkTimeout), table)).length > 0;
  };

  const queues = createTableQueues<RowBatch & Queued, void>({
    pendingLimit,
    full: 'too many rows wait to be stored',
    sizeLimit: insertLimit,
    turns,
    gather,
    run: store,
  });
  return {
    write: (batch) => queues.add({ ...batch, shape: batch.columns.join(), size: batch.lines.byteLength }),
  };
}
