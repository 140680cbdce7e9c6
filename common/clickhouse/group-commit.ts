import { ApiError } from '../errors/api-error.ts';
import { deadlineExceeded, overloaded } from '../errors/catalogue.ts';
import type { Database } from './database.ts';
import { TableTurns } from './table-turns.ts';
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

/** Writes that are about to come: the next INSERT waits for them a little, because it costs the same with them. */
export interface Gather {
  /** How many writes are under way to `write`, those that wait there included. */
  expected(): number;
  /** Milliseconds. */
  readonly wait: number;
}

interface Entry extends RowBatch {
  readonly shape: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

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
  const { db, pendingLimit, insertLimit, turns = new TableTurns(), gather } = args;
  /** Tables with an INSERT under way, and what waits for its end. */
  const queues = new Map<string, Entry[]>();
  let pending = 0;
  /** Called when a write comes that an INSERT may wait for. */
  const arrivals = new Map<string, () => void>();

  /** Resolves when all that are expected are here, or after a while. */
  const gathered = (table: string, queue: readonly Entry[], { expected, wait }: Gather): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        arrivals.delete(table);
        resolve();
      };
      const timer = setTimeout(done, wait);
      arrivals.set(table, () => {
        if (queue.length >= expected()) done();
      });
    });

  const drain = async (table: string, queue: Entry[]): Promise<void> => {
    while (queue.length > 0) {
      if (gather !== undefined && queue.length < gather.expected()) await gathered(table, queue, gather);
      await turns.beside(table, async () => {
        const entries = takeNext(queue, insertLimit);
        if (entries.length > 0) await store(table, entries);
      });
    }
    queues.delete(table);
  };

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
    return (await db.rows(sql, AbortSignal.timeout(checkTimeout))).length > 0;
  };

  return {
    async write(batch) {
      const size = batch.lines.byteLength;
      // what is larger than the limit is let in alone
      if (pending > 0 && pending + size > pendingLimit) throw overloaded('too many rows wait to be stored');
      pending += size;
      try {
        await new Promise<void>((resolve, reject) => {
          const entry = { ...batch, shape: batch.columns.join(), resolve, reject };
          const queue = queues.get(batch.table);
          if (queue !== undefined) {
            queue.push(entry);
            arrivals.get(batch.table)?.();
            return;
          }
          const fresh = [entry];
          queues.set(batch.table, fresh);
          void drain(batch.table, fresh);
        });
      } finally {
        pending -= size;
      }
    },
  };
}

/** Takes what goes into the next INSERT: rows of the same columns as the first, in turn, until one does not fit. */
function takeNext(queue: Entry[], limit: number): Entry[] {
  const taken: Entry[] = [];
  const left: Entry[] = [];
  let size = 0;
  let full = false;
  for (const entry of queue) {
    if (entry.signal.aborted) {
      entry.reject(entry.signal.reason);
    } else if ((taken[0] ?? entry).shape !== entry.shape) {
      left.push(entry);
    } else {
      full ||= taken.length > 0 && size + entry.lines.byteLength > limit;
      (full ? left : taken).push(entry);
      size += entry.lines.byteLength;
    }
  }
  queue.splice(0, queue.length, ...left);
  return taken;
}
