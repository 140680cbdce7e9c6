import type { Database } from '../../common/clickhouse/database.ts';
import type { TableTurns } from '../../common/clickhouse/table-turns.ts';
import type { Handler } from '../../common/http/http-types.ts';
import type { SpaceVersions } from '../records/space-versions.ts';
import { clearSpace } from '../space/clear-records.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

/**
 * DELETE /{project}/{space}/clear-records: deletes all records of the space and answers how many there were just
 * before. Within a process nothing is stored between the count and the end, so what is acknowledged is counted or there.
 */
export function clear(deps: {
  db: Database;
  openSpace: OpenRecordSpace;
  turns: TableTurns;
  versions: SpaceVersions;
}): Handler {
  const { db, openSpace, turns } = deps;
  return async (request) => {
    const { signal } = request;
    const space = await openSpace(request, 'clear');
    const deleted = await turns.alone(space.table, async () => {
      const [row] = await db.rows<{ _records: number }>(
        `SELECT toFloat64(count()) AS _records FROM ${space.table}`,
        signal,
        space.table,
      );
      await clearSpace(deps, space, signal);
      return row?._records ?? 0;
    });
    return jsonAnswer(JSON.stringify({ deleted }));
  };
}
