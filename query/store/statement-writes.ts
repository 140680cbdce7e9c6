import { GroupCommit } from '../../common/clickhouse/group-commit.ts';
import type { ReadWriteLock } from '../../common/limits/read-write-lock.ts';
import type { Metrics } from '../../common/telemetry/create-metrics.ts';
import { idsSql } from '../sql/conditions-sql.ts';
import { type NewRecord, newCompactLines, newKeyLines, newRecordLines } from '../sql/new-record.ts';
import { keyLines, recordLines } from '../sql/record-row.ts';
import { uniqueSlots } from '../structure/slots.ts';
import { createChangeCommit } from './change-commit.ts';
import type { Changed, Engine, RecordChange, RecordWrites } from './record-store.ts';

/**
 * To be called before a write can be seen, so that no kept result contradicts it. Rejects with 503 when other processes
 * can't be reached; then nothing may be written. Resolves with a function, to be called when the write can be seen or its
 * outcome is unknown. That one resolves when the write may be acknowledged, and never rejects.
 */
export type BeginWrite = (spaceId: string) => Promise<() => Promise<void>>;

/**
 * Records that are worth an INSERT of their own, of just their columns: fewer share one with those of other structures.
 * So many are the most of one UPDATE, too, and of what is done with records at once.
 */
export const manyRecords = 200;

/** Bytes of rows: the most that wait in this process, and the most that are gathered for one INSERT. */
const insertLimits = { pendingLimit: 128 * 1024 * 1024, insertLimit: 16 * 1024 * 1024 };
/**
 * Clients that got answers mostly write again at once, and a part costs the engine the same whatever is in it (docs/
 * decisions/060-cost-of-a-served-request.md). Milliseconds.
 */
const linger = { part: 1, most: 40 };
/** Characters of changes that wait in this process, and characters and records of one UPDATE. */
const changeLimits = {
  pendingLimit: 64 * 1024 * 1024,
  statementLimit: 4 * 1024 * 1024,
  recordLimit: manyRecords,
};

/** Writes by statements that those of other requests share: for a store that several processes write to, and for large inserts. */
export function createStatementWrites(
  deps: Engine & {
    /** By space; shared with others that change the same rows. */
    readonly lock: ReadWriteLock;
    readonly beginWrite: BeginWrite;
    readonly metrics: Pick<Metrics, 'batch'>;
  },
): RecordWrites {
  const { db, table, beginWrite, metrics } = deps;
  const groupCommit = new GroupCommit({
    ...{ ...deps, ...insertLimits, linger },
    onStatement: metrics.batch('record_inserts'),
  });
  const changeCommit = createChangeCommit({ ...deps, ...changeLimits, linger });

  /** The keys come before the values: a key without its value is harmless, a value without its key is not found. */
  const addKeys = async ({ space, steps, permit, signal }: RecordChange): Promise<void> => {
    const slots = uniqueSlots(space.structure);
    const rows = steps.map(({ id, assignments }) => {
      const set = (assignments ?? []).filter(({ slot, value }) => value !== null && slots.includes(slot));
      const doc = Object.fromEntries(set.map(({ slot, value }) => [slot, String(value)]));
      return { spaceId: space.id, slots, row: { _id: id, _doc: doc } };
    });
    const lines = await keyLines(rows, signal);
    if (lines.byteLength === 0) return;
    await db.insert({ ...table.keyRows, lines, home: table.homeOf(space.id), permit: permit ?? undefined });
  };

  return {
    async insert({ space, records, unique, receipt, signal, permit }) {
      const own = receipt === undefined ? null : await recordLines([receipt], signal);
      const rows: { readonly lines: Uint8Array; readonly columns?: readonly string[] } =
        records.length > manyRecords && own === null
          ? await newCompactLines(space, records, signal)
          : { lines: joined(await newRecordLines(space, records, signal), own) };
      const keys = await newKeyLines(space, records, unique, signal);
      const proof = { columns: '1', where: idsSql([(records[0] as NewRecord).id]), tail: 'LIMIT 1' };
      const end = await beginWrite(space.id);
      try {
        await groupCommit.write({
          table: table.recordRows.table,
          columns: rows.columns,
          lines: rows.lines,
          // a key without a record is harmless, a record without its key would not be found
          before: keys.byteLength === 0 ? undefined : { ...table.keyRows, lines: keys },
          home: table.homeOf(space.id),
          account: space.ownerId,
          lockKey: space.id,
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
    async change(change): Promise<Changed> {
      await addKeys(change);
      const end = await beginWrite(change.space.id);
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

function joined(lines: Uint8Array, more: Uint8Array | null): Uint8Array {
  return more === null ? lines : Buffer.concat([lines, more]);
}

/** Does work while nothing that was kept of a space counts. */
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
