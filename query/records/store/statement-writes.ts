import { GroupCommit, type Rows } from '#engine/group-commit.ts';
import type { Pace } from '#engine/statement-queues.ts';
import type { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import { idsSql } from '../sql/conditions-sql.ts';
import { type NewRecord, newRecordLines } from '../sql/new-record.ts';
import { recordLines } from '../sql/record-row.ts';
import { newBlock, type PackedBlock } from '../sql/row-block.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { SlotValue } from '../sql/terms.ts';
import { createChangeCommit } from './change-commit.ts';
import { timeout } from './lookup-statement.ts';
import { type ChangeOutcome, type Engine, type RecordWrites, ValuesTaken } from './record-store.ts';
import { UpdateValues } from './update-values.ts';

/**
 * To be called before a write can be seen, so that no cached result contradicts it. Rejects with 503 when other processes
 * can't be reached; then nothing may be written. Resolves with a function, to be called when the write can be seen or its
 * outcome is unknown. That function resolves when the write may be acknowledged, and never rejects.
 */
export type BeginWrite = (spaceId: string) => Promise<EndWrite>;
/** @param written absent: unknown */
export type EndWrite = (written?: WriteSummary) => Promise<void>;

/** The records that a write made, or that it changed or removed. */
export interface WriteSummary {
  readonly ids: readonly string[];
  readonly areNew: boolean;
}

/**
 * A request with more records gets its own INSERT, with just its columns; smaller requests share one. It is also the most
 * records of one UPDATE, and of other work done at once.
 */
export const statementRecords = 200;
/** Up to this many ids of written records are sent to other processes. */
const mostTold = 1000;

/** Bytes of rows: the most that wait in this process, and the most of one INSERT. */
const insertLimits = { pendingLimit: 128 * 1024 * 1024, insertLimit: 16 * 1024 * 1024 };
/**
 * Most clients write again as soon as they get an answer, and a part costs the engine the same whatever its size (docs/
 * decisions/060-cost-of-a-served-request.md). Milliseconds.
 */
const linger = { part: 1, most: 40 };
/** Characters of changes that wait in this process, and characters and records of one UPDATE. */
const changeLimits = {
  pendingLimit: 64 * 1024 * 1024,
  statementLimit: 4 * 1024 * 1024,
  recordLimit: statementRecords,
};

/** Writes by statements that requests share, for a store that several processes write to. */
export function createStatementWrites(
  parts: Engine & {
    /** By space; shared with others that change the same rows. */
    readonly lock: ReadWriteLock;
    readonly beginWrite: BeginWrite;
    readonly metrics: Pick<Metrics, 'batch'>;
    readonly log: Pick<Log, 'warn'>;
    /** Absent: the parts of the table are not counted, because there are few. */
    readonly pace?: Pace | undefined;
  },
): RecordWrites {
  const { table, beginWrite, metrics, pace } = parts;
  const groupCommit = new GroupCommit({
    ...parts,
    ...insertLimits,
    linger,
    pace,
    check: (batches) => takenIn(parts, batches as readonly AbsentValues[]),
    onStatement: metrics.batch('record_inserts'),
  });
  const changeCommit = createChangeCommit({
    ...parts,
    ...changeLimits,
    linger,
    pace,
    values: new UpdateValues(parts),
  });

  return {
    async insert({ space, records, unique, absent, receipt, signal, permit }) {
      const own = receipt === undefined ? null : await recordLines([receipt], signal);
      const rows =
        records.length > statementRecords && own === null
          ? linesOf(await newBlock(space, records, unique, signal))
          : { lines: joined(await newRecordLines(space, records, unique, signal), own) };
      const proof = { columns: '1', where: idsSql([(records[0] as NewRecord).id]), tail: 'LIMIT 1' };
      let begun: ReturnType<BeginWrite> | null = null;
      // a failed INSERT of several requests is retried in parts
      const begin = async (): Promise<void> => {
        begun ??= beginWrite(space.id);
        await begun;
      };
      const end = async (): Promise<void> => {
        const ended = await begun?.catch(() => null);
        await ended?.(writtenOf(records, true));
      };
      if (absent === undefined) await begin();
      try {
        await groupCommit.write({
          table: table.recordRows.table,
          ...rows,
          home: table.homeOf(space.id),
          account: space.ownerId,
          lockKey: space.id,
          absent: absent && { values: absent, begin },
          proof: table.select(space.id, proof).sql,
          signal,
          permit,
        });
      } catch (error) {
        // after most failures the outcome is unknown
        await end();
        throw error;
      }
      return { invalidated: end() };
    },
    async change(change): Promise<ChangeOutcome> {
      const ended = await beginWrite(change.space.id);
      const end = () => ended(writtenOf(change.steps, false));
      try {
        const rows = await changeCommit.commit(change);
        return { rows, invalidated: end() };
      } catch (error) {
        await end();
        throw error;
      }
    },
  };
}

function writtenOf(records: readonly { readonly id: string }[], areNew: boolean): WriteSummary | undefined {
  return records.length > mostTold ? undefined : { ids: records.map(({ id }) => id), areNew };
}

interface AbsentValues {
  readonly absent: { readonly values: readonly SlotValue[] };
}

/** For each request the error that lists its values that are stored already; null: none is. */
async function takenIn(
  { db, table }: Engine,
  batches: readonly AbsentValues[],
): Promise<readonly (ValuesTaken | null)[]> {
  const values = batches.flatMap(({ absent }) => absent.values);
  const rows = await db.rows<Pick<StoredRow, '_doc'> & { readonly _space: string }>({
    ...table.selectByValues(values, 'toString(space) AS _space, _doc'),
    signal: AbortSignal.timeout(timeout),
  });
  const isTaken = ({ spaceId, slot, value }: SlotValue): boolean =>
    rows.some(({ _space, _doc }) => _space === spaceId && _doc[slot] === String(value));
  return batches.map(({ absent }) => {
    const taken = absent.values.filter(isTaken);
    return taken.length === 0 ? null : new ValuesTaken(taken);
  });
}

function linesOf({ columns, types, rows }: PackedBlock): Omit<Rows, 'table'> {
  return { columns, types, lines: rows };
}

function joined(lines: Uint8Array, more: Uint8Array | null): Uint8Array {
  return more === null ? lines : Buffer.concat([lines, more]);
}

/** Does work during which no cached result of a space is valid. */
export async function whileWriting<Result>(
  beginWrite: BeginWrite,
  spaceId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const end = await beginWrite(spaceId);
  try {
    return await work();
  } finally {
    // also when the outcome is unknown
    await end();
  }
}
