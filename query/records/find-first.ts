import type { Database } from '../../common/clickhouse/database.ts';
import { recordsSql } from '../sql/record-sql.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/** The oldest record that a condition selects, as JSON text; null when there is none. @param where null: any record */
export async function findFirst(
  db: Database,
  space: RecordSpace,
  where: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  const options = { sort: null, page: { limit: 1, offset: 0 } };
  const sql = recordsSql({ space, where, options });
  const [row] = await db.rows<{ _record: string }>(sql, signal, space.table);
  return row?._record ?? null;
}
