import type { Database } from '../../common/clickhouse/database.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { jsonAnswer } from '../json-answer.ts';
import type { OpenRecordSpace } from '../open-record-space.ts';
import { clearSpace } from '../space/clear-records.ts';

/**
 * DELETE /{project}/{space}/clear-records: deletes all records of the space and answers how many there were just
 * before.
 */
export function clear({ db, openSpace }: { db: Database; openSpace: OpenRecordSpace }): Handler {
  return async (request) => {
    const { signal } = request;
    const space = await openSpace(request, 'clear');
    const [row] = await db.rows<{ _records: number }>(
      `SELECT toFloat64(count()) AS _records FROM ${space.table}`,
      signal,
    );
    await clearSpace(db, space.table, signal);
    return jsonAnswer(JSON.stringify({ deleted: row?._records ?? 0 }));
  };
}
