import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { createTableQueues, type Queued, type Waiting } from '../../common/clickhouse/table-queues.ts';
import type { TableTurns } from '../../common/clickhouse/table-turns.ts';
import { topologyOf } from '../../common/clickhouse/topology.ts';
import { UnknownOutcome } from '../../common/clickhouse/unknown-outcome.ts';
import {
  joinPermits,
  permitted,
  StatementTimeout,
  type WritePermit,
} from '../../common/clickhouse/write-permit.ts';
import { ApiError } from '../../common/errors/api-error.ts';
import { deadlineExceeded } from '../../common/errors/catalogue.ts';
import { type Assignment, removeSql, updateSql } from '../sql/change-sql.ts';
import { recordExpression } from '../sql/record-sql.ts';
import type { Structure } from '../structure/structure.ts';

/** A change of one stored record. */
export interface RecordChange {
  /** Quoted, with its database. */
  readonly table: string;
  readonly id: string;
  /** Which fields the answer has. */
  readonly structure: Structure;
  /** In an order that depends on the set of columns only; null: the record is removed. */
  readonly assignments: readonly Assignment[] | null;
  /** Aborted: the change is left out when its statement has not begun. */
  readonly signal: AbortSignal;
  /** Asked when the statement of an update begins; without it the change is left out. */
  readonly permit?: WritePermit | null;
}

export interface ChangeCommit {
  /**
   * Makes the change together with those of other requests: one statement for a table runs at a time, and what waits
   * meanwhile for the same columns becomes the next one. Answers the record's JSON text as it is after an update or
   * was before a removal, and null when there is no such record. Settles when the outcome is known and not before,
   * whatever the signal says. Rejects with 503 when too much waits.
   */
  commit(change: RecordChange): Promise<string | null>;
}

type Entry = Waiting<RecordChange & Queued, string | null>;

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
  pendingLimit: number;
  statementLimit: number;
  recordLimit: number;
  now?: () => Date;
  /** Shared with others that change the same tables; absent: there are none. */
  turns?: TableTurns;
}): ChangeCommit {
  const { db, pendingLimit, statementLimit, recordLimit, turns, now = () => new Date() } = args;

  const { rowsEverywhere } = topologyOf(db);

  /** Never rejects; every entry hears of its own outcome. */
  const make = async (table: string, gathered: readonly Entry[]): Promise<void> => {
    const entries = permitted(gathered, ({ reject }, reason) => reject(reason));
    if (entries.length === 0) return;
    let answers: ReadonlyMap<Entry, string>;
    try {
      answers =
        entries[0]?.assignments === null ? await remove(table, entries) : await update(table, entries);
    } catch (error) {
      if (error instanceof ApiError) {
        // a permit that ran out while the statement waited for the engine: the rest is made
        const left = permitted(entries, ({ reject }, reason) => reject(reason));
        if (left.length < entries.length) return make(table, left);
      }
      // what a broken connection hides may have been made: a record that was removed would seem never to have been
      if (error instanceof ApiError || error instanceof UnknownOutcome || entries.length === 1) {
        const reason = error instanceof StatementTimeout ? deadlineExceeded(error.timeLimit) : error;
        for (const { reject } of entries) reject(reason);
        return;
      }
      // one request's values may have failed the others: halves find it in few steps, and a change made twice is the same
      const middle = entries.length >> 1;
      await make(table, entries.slice(0, middle));
      await make(table, entries.slice(middle));
      return;
    }
    for (const entry of entries) entry.resolve(answers.get(entry) ?? null);
  };

  const update = async (table: string, entries: readonly Entry[]): Promise<ReadonlyMap<Entry, string>> => {
    const rows = entries.map(({ id, assignments }) => ({ id, assignments: assignments ?? [] }));
    // no request's signal: others wait for this statement too, and its outcome must be known
    await db.command(updateSql(rowsEverywhere(table), rows, now()), undefined, joinPermits(entries), table);
    return readRecords(table, entries);
  };

  const remove = async (table: string, entries: readonly Entry[]): Promise<ReadonlyMap<Entry, string>> => {
    const records = await readRecords(table, entries);
    const found = [...records.keys()].map(({ id }) => id);
    if (found.length > 0)
      await db.command(removeSql(rowsEverywhere(table), found), undefined, undefined, table);
    return records;
  };

  /** The records of the entries, each as its own request sees it. */
  const readRecords = async (
    table: string,
    entries: readonly Entry[],
  ): Promise<ReadonlyMap<Entry, string>> => {
    const records = new Map<Entry, string>();
    for (const [structure, group] of byStructure(entries)) {
      const ids = [...group.keys()].map(textLiteral).join(', ');
      const rows = await db.rows<{ _id: string; _record: string }>(
        `SELECT _id, ${recordExpression(structure)} AS _record FROM ${table} WHERE _id IN (${ids})`,
        AbortSignal.timeout(readTimeout),
        table,
      );
      for (const { _id, _record } of rows) records.set(group.get(_id) as Entry, _record);
    }
    return records;
  };

  const queues = createTableQueues<RecordChange & Queued, string | null>({
    pendingLimit,
    full: 'too many changes wait to be made',
    sizeLimit: statementLimit,
    countLimit: recordLimit,
    turns,
    run: make,
  });
  return {
    commit: (change) =>
      queues.add({ ...change, shape: shapeOf(change), size: sizeOf(change), key: change.id }),
  };
}

function shapeOf({ assignments }: RecordChange): string {
  return assignments === null ? 'remove' : `update ${assignments.map(({ column }) => column).join()}`;
}

function sizeOf({ id, assignments }: RecordChange): number {
  let size = overhead + id.length;
  for (const { column, value } of assignments ?? []) size += column.length + String(value).length;
  return size;
}

function byStructure(entries: readonly Entry[]): ReadonlyMap<Structure, ReadonlyMap<string, Entry>> {
  const groups = new Map<Structure, Map<string, Entry>>();
  for (const entry of entries) {
    const group = groups.get(entry.structure) ?? new Map<string, Entry>();
    groups.set(entry.structure, group.set(entry.id, entry));
  }
  return groups;
}
