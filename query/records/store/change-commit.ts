import {
  type QueuedItem,
  type StatementItem,
  StatementQueues,
  type StatementQueuesOptions,
} from '#engine/statement-queues.ts';
import { joinPermits, permittedWrites, StatementTimeout } from '#engine/write-permit.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { databaseUnavailable, deadlineExceeded } from '#kernel/errors/catalogue.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import type { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { RecordAddress } from '../sql/addresses-sql.ts';
import { keyLines, type UpdatedValues } from '../sql/record-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { anyNumber } from '../sql/terms.ts';
import { type RowUpdate, sumFailure } from '../sql/update-sql.ts';
import { isIncrement } from '../structure/increment.ts';
import { kindOf } from '../structure/slots.ts';
import { typeText } from '../types/field-types.ts';
import type { ChangeStep, Engine, RecordChange } from './record-store.ts';
import { rowsById } from './rows-by-id.ts';
import type { UpdateValues } from './update-values.ts';

type Rows = readonly (StoredRow | null)[];
type WaitingChange = QueuedItem<RecordChange & StatementItem, Rows>;

/** Characters that a waiting change counts in addition to its values. */
const overhead = 500;
/** Milliseconds for reading the changed records of one statement. */
const readTimeout = 30_000;
/** Work that other requests wait for is not aborted. */
const { signal: never } = new AbortController();

/**
 * Group commit of changes. One statement runs at a time, and changes of the same slots that wait meanwhile, of any
 * spaces, go into the next one. The same change of several records gets a statement to itself. A change returns records as they
 * are after an update or were before a removal, and null for missing records. It settles when the outcome is
 * known, whatever its signal does, and rejects with 503 when too many changes wait.
 * @param args.pendingLimit characters of changes that may wait or be made at once in this process
 * @param args.statementLimit characters that are gathered for one statement
 * @param args.recordLimit records of one statement
 */
export function createChangeCommit(
  args: Engine & {
    pendingLimit: number;
    statementLimit: number;
    recordLimit: number;
    /** Shared with others that change the same rows. Usually its own, because there are none. */
    lock?: ReadWriteLock;
    metrics: Pick<Metrics, 'batch'>;
    values: Pick<UpdateValues, 'wrote'>;
  } & Pick<StatementQueuesOptions<RecordChange & StatementItem, Rows>, 'linger' | 'pace'>,
): { commit(change: RecordChange): Promise<Rows> } {
  const { db, table, pendingLimit, statementLimit, recordLimit, lock } = args;

  /** Never rejects; every entry hears of its own outcome. */
  const make = async (gathered: readonly WaitingChange[]): Promise<void> => {
    const entries = permittedWrites(gathered, ({ reject }, reason) => reject(reason));
    if (entries.length === 0) return;
    let answers: ReadonlyMap<WaitingChange, Rows>;
    try {
      answers = entries.some(({ item }) => removes(item)) ? await remove(entries) : await update(entries);
    } catch (error) {
      if (error instanceof ApiError) {
        // a permit expired while the statement waited for the engine: make the other changes
        const left = permittedWrites(entries, ({ reject }, reason) => reject(reason));
        if (left.length < entries.length) return make(left);
      }
      // if the connection broke, the change may have been made: a removed record would seem never to have existed
      const isOver = error instanceof ApiError || error instanceof UnknownOutcome || entries.length === 1;
      const outOfRange = sumFailure(error, entries[0]?.item.steps[0]?.assignments ?? []);
      // an increment that was made must not be made again because reading its result failed
      if (isOver || (outOfRange === null && entries.some(({ item }) => adds(item)))) {
        const known = outOfRange ?? error;
        const reason = known instanceof StatementTimeout ? deadlineExceeded(known.timeLimit) : known;
        for (const { reject } of entries) reject(reason);
        return;
      }
      // one request's values may have failed the others: halving finds it in few steps, and repeating a change is harmless
      const middle = entries.length >> 1;
      await make(entries.slice(0, middle));
      await make(entries.slice(middle));
      return;
    }
    for (const entry of entries) entry.resolve(answers.get(entry) ?? []);
  };

  const update = async (entries: readonly WaitingChange[]): Promise<ReadonlyMap<WaitingChange, Rows>> => {
    const rows = entries.flatMap(({ item: { space, steps } }) =>
      steps.map(({ id, assignments }) => ({ spaceId: space.id, id, assignments: assignments ?? [] })),
    );
    await storeValues(args, rows);
    // not a request's signal: other requests wait for this statement, and its outcome must be known
    await db.command({ ...table.update(rows, new Date()), permit: joinPermits(entries) });
    return readRecords(entries);
  };

  const remove = async (entries: readonly WaitingChange[]): Promise<ReadonlyMap<WaitingChange, Rows>> => {
    const records = await readRecords(entries);
    const found = [...records].flatMap(
      ([
        {
          item: { space },
        },
        rows,
      ]) => rows.flatMap((row) => (row === null ? [] : { spaceId: space.id, id: row._id })),
    );
    if (found.length > 0) await db.command(table.remove(found));
    return records;
  };

  const readRecords = async (
    entries: readonly WaitingChange[],
  ): Promise<ReadonlyMap<WaitingChange, Rows>> => {
    const addresses = entries.flatMap(({ item }) => addressesOf(item));
    const rowOf = await rowsById(args, addresses, AbortSignal.timeout(readTimeout));
    return new Map(entries.map((entry) => [entry, addressesOf(entry.item).map(rowOf)]));
  };

  const queues = new StatementQueues<RecordChange & StatementItem, Rows>({
    pendingLimit,
    full: 'too many changes wait to be made',
    sizeLimit: statementLimit,
    countLimit: recordLimit,
    lock,
    linger: args.linger,
    pace: args.pace,
    onStatement: args.metrics.batch('record_changes'),
    run: make,
  });
  return { commit: (change) => queues.add(queued(change, table.homeOf(change.space.id))) };
}

function queued(change: RecordChange, home: string): RecordChange & StatementItem {
  const { space, steps, signal, permit = null } = change;
  return {
    queue: home,
    shape: shapeOf(change),
    size: sizeOf(change),
    account: space.ownerId,
    lockKey: space.id,
    key: steps.length === 1 ? (steps[0] as ChangeStep).id : '',
    space,
    steps,
    signal,
    permit,
  };
}

function addressesOf({ space, steps }: RecordChange): readonly RecordAddress[] {
  return steps.map(({ id }) => ({ spaceId: space.id, id }));
}

/** A key without its value is harmless; a value without its key would not be found. */
async function storeValues(
  { db, table, values }: Engine & { readonly values: Pick<UpdateValues, 'wrote'> },
  rows: readonly RowUpdate[],
): Promise<void> {
  const lines = await keyLines(rows.map(writtenBy), never);
  if (lines.byteLength === 0) return;
  const home = table.homeOf((rows[0] as RowUpdate).spaceId);
  const insert = (): Promise<void> => db.insert({ ...table.keyRows, lines, home });
  await insert()
    // keys may be stored twice, and nothing was changed yet
    .catch((error: unknown) => (error instanceof UnknownOutcome ? insert() : Promise.reject(error)))
    .catch((error: unknown) => {
      throw error instanceof UnknownOutcome ? (error.refusal ?? databaseUnavailable(error)) : error;
    });
  values.wrote(rows.map(({ spaceId }) => spaceId));
}

function writtenBy({ spaceId, id, assignments }: RowUpdate): UpdatedValues {
  const doc: Record<string, string> = {};
  for (const { slot, value } of assignments) {
    if (value === null || kindOf(slot) === 'h') continue;
    doc[slot] = isIncrement(value) ? anyNumber : String(value);
  }
  return { spaceId, id, doc };
}

function removes({ steps }: RecordChange): boolean {
  return steps[0]?.assignments === null;
}

function adds({ steps }: RecordChange): boolean {
  return steps[0]?.assignments?.some(({ value }) => isIncrement(value)) ?? false;
}

function shapeOf({ steps }: RecordChange): string {
  const { id, assignments = null } = steps[0] ?? {};
  if (steps.length > 1) return `several ${id}`;
  if (assignments === null) return 'remove';
  return `update ${assignments.map(({ slot, value }) => `${slot}${isIncrement(value) ? `+${typeText(value.field)}` : ''}`).join()}`;
}

function sizeOf({ steps }: RecordChange): number {
  let size = 0;
  for (const { id } of steps) size += overhead + id.length;
  for (const { slot, value } of steps[0]?.assignments ?? []) size += slot.length + String(value).length;
  return size;
}
