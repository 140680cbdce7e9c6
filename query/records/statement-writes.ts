import type { Database } from '../../common/clickhouse/database.ts';
import type { GroupCommit } from '../../common/clickhouse/group-commit.ts';
import { idsSql } from '../sql/conditions-sql.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import { uniqueSlots } from '../unique/unique-values.ts';
import type { BeginWrite } from './begin-write.ts';
import type { ChangeCommit } from './change-commit.ts';
import { type NewRecord, newCompactLines, newKeyLines, newRecordLines } from './new-record.ts';
import { keyLines } from './record-row.ts';
import type { Changed, RecordChange, RecordWrites } from './record-writes.ts';

/** Records that are worth an INSERT of their own, of just their columns: fewer share one with those of other structures. */
const manyRecords = 200;

/** Writes by statements that those of other requests share: for a store that several processes write to, and for large inserts. */
export function createStatementWrites(deps: {
  readonly db: Database;
  readonly table: RecordsTable;
  readonly groupCommit: GroupCommit;
  readonly changeCommit: ChangeCommit;
  readonly beginWrite: BeginWrite;
}): RecordWrites {
  const { db, table, groupCommit, changeCommit, beginWrite } = deps;

  /** The keys come before the values: a key without its value is harmless, a value without its key is not found. */
  const addKeys = async ({ space, id, assignments, permit, signal }: RecordChange): Promise<void> => {
    const set = (assignments ?? []).flatMap(({ slot, value }) =>
      value === null ? [] : [[slot, String(value)]],
    );
    const row = { _id: id, _doc: Object.fromEntries(set) };
    const keyed = { spaceId: space.id, slots: uniqueSlots(space.structure), row };
    const lines = await keyLines([keyed], signal);
    if (lines.byteLength === 0) return;
    await db.insert({ ...table.keyRows, lines, home: table.homeOf(space.id), permit: permit ?? undefined });
  };

  return {
    async insert({ space, records, unique, signal, permit }) {
      const rows =
        records.length > manyRecords
          ? await newCompactLines(space, records, signal)
          : { lines: await newRecordLines(space, records, signal) };
      const keys = await newKeyLines(space, records, unique, signal);
      const proof = { columns: '1', where: idsSql([(records[0] as NewRecord).id]), tail: 'LIMIT 1' };
      const end = await beginWrite(space.id, null);
      try {
        await groupCommit.write({
          ...table.recordRows,
          ...rows,
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
        // of most failures nobody knows what they did
        await end();
        throw error;
      }
      return { told: end() };
    },
    async change(change): Promise<Changed> {
      await addKeys(change);
      const end = await beginWrite(change.space.id, null);
      try {
        const row = await changeCommit.commit(change);
        return { row, told: end() };
      } catch (error) {
        await end();
        throw error;
      }
    },
  };
}
