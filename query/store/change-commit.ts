import type { Database } from '../../common/clickhouse/database.ts';
import { type Queued, StatementQueues, type Waiting } from '../../common/clickhouse/statement-queues.ts';
import { UnknownOutcome } from '../../common/clickhouse/unknown-outcome.ts';
import { joinPermits, permitted, StatementTimeout } from '../../common/clickhouse/write-permit.ts';
import { ApiError } from '../../common/errors/api-error.ts';
import { deadlineExceeded } from '../../common/errors/catalogue.ts';
import type { ReadWriteLock } from '../../common/limits/read-write-lock.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { RecordAddress, RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { isIncrement } from '../structure/increment.ts';
import type { RecordChange } from './record-store.ts';

export interface ChangeCommit {
  /**
   * Makes the change together with those of other requests: one statement runs at a time, and what waits meanwhile
   * for the same slots, of whatever spaces, becomes the next one. Answers the record as it is after an update or was before a
   * removal, and null when there is no such record. Settles when the outcome is known and not before,
   * whatever the signal says. Rejects with 503 when too much waits.
   */
  commit(change: RecordChange): Promise<StoredRow | null>;
}

type Entry = Waiting<RecordChange & Queued, StoredRow | null>;

/** Characters beside the values: what is kept for a waiting change. */
const overhead = 500;
/** Milliseconds for reading what the records of one statement became. */
const readTimeout = 30_000;

/**
 * @param args.pendingLimit characters of changes that may wait or be made at once in this process
 * @param args.statementLimit characters that are gathered for one statement
 * @param args.recordLimit records of one statement
 */
export function createChangeCommit(args: {
  db: Database;
  table: RecordsTable;
  pendingLimit: number;
  statementLimit: number;
  recordLimit: number;
  now?: () => Date;
  /** Shared with others that change the same rows; absent: there are none. */
  lock?: ReadWriteLock;
  /** Absent: nobody measures. */
  metrics?: Pick<Metrics, 'batch'> | undefined;
}): ChangeCommit {
  const { db, table, pendingLimit, statementLimit, recordLimit, lock, now = () => new Date() } = args;

  /** Never rejects; every entry hears of its own outcome. */
  const make = async (gathered: readonly Entry[]): Promise<void> => {
    const entries = permitted(gathered, ({ reject }, reason) => reject(reason));
    if (entries.length === 0) return;
    let answers: ReadonlyMap<Entry, StoredRow>;
    try {
      answers = entries[0]?.assignments === null ? await remove(entries) : await update(entries);
    } catch (error) {
      if (error instanceof ApiError) {
        // a permit that ran out while the statement waited for the engine: the rest is made
        const left = permitted(entries, ({ reject }, reason) => reject(reason));
        if (left.length < entries.length) return make(left);
      }
      // what a broken connection hides may have been made: a record that was removed would seem never to have been
      const isOver = error instanceof ApiError || error instanceof UnknownOutcome || entries.length === 1;
      // what was added, and only then failed to be read, must not be added again
      if (isOver || entries.some(adds)) {
        const reason = error instanceof StatementTimeout ? deadlineExceeded(error.timeLimit) : error;
        for (const { reject } of entries) reject(reason);
        return;
      }
      // one request's values may have failed the others: halves find it in few steps, and a change made twice is the same
      const middle = entries.length >> 1;
      await make(entries.slice(0, middle));
      await make(entries.slice(middle));
      return;
    }
    for (const entry of entries) entry.resolve(answers.get(entry) ?? null);
  };

  const update = async (entries: readonly Entry[]): Promise<ReadonlyMap<Entry, StoredRow>> => {
    const rows = entries.map((entry) => ({ ...addressOf(entry), assignments: entry.assignments ?? [] }));
    // no request's signal: others wait for this statement too, and its outcome must be known
    await db.command({ ...table.update(rows, now()), permit: joinPermits(entries) });
    return readRecords(entries);
  };

  const remove = async (entries: readonly Entry[]): Promise<ReadonlyMap<Entry, StoredRow>> => {
    const records = await readRecords(entries);
    const found = [...records.keys()].map(addressOf);
    if (found.length > 0) await db.command(table.remove(found));
    return records;
  };

  /** The records of the entries, as far as there are any. */
  const readRecords = async (entries: readonly Entry[]): Promise<ReadonlyMap<Entry, StoredRow>> => {
    const rows = await db.rows<StoredRow & { _space: string }>({
      ...table.selectByIds(entries.map(addressOf), rowColumns),
      signal: AbortSignal.timeout(readTimeout),
    });
    const byAddress = new Map(rows.map((row) => [`${row._space} ${row._id}`, row]));
    const records = new Map<Entry, StoredRow>();
    for (const entry of entries) {
      const row = byAddress.get(`${entry.space.id} ${entry.id}`);
      if (row !== undefined) records.set(entry, row);
    }
    return records;
  };

  const queues = new StatementQueues<RecordChange & Queued, StoredRow | null>({
    pendingLimit,
    full: 'too many changes wait to be made',
    sizeLimit: statementLimit,
    countLimit: recordLimit,
    lock,
    onStatement: args.metrics?.batch('record_changes'),
    run: make,
  });
  return {
    commit: (change) =>
      queues.add({
        ...change,
        queue: table.homeOf(change.space.id),
        account: change.space.ownerId,
        lockKey: change.space.id,
        shape: shapeOf(change),
        size: sizeOf(change),
        key: change.id,
      }),
  };
}

function addressOf({ space, id }: RecordChange): RecordAddress {
  return { spaceId: space.id, id };
}

function adds({ assignments }: RecordChange): boolean {
  return assignments?.some(({ value }) => isIncrement(value)) ?? false;
}

function shapeOf({ assignments }: RecordChange): string {
  if (assignments === null) return 'remove';
  return `update ${assignments.map(({ slot, value }) => `${slot}${isIncrement(value) ? '+' : ''}`).join()}`;
}

function sizeOf({ id, assignments }: RecordChange): number {
  let size = overhead + id.length;
  for (const { slot, value } of assignments ?? []) size += slot.length + String(value).length;
  return size;
}
