import type { Database } from '../../common/clickhouse/database.ts';
import type { RecordSpace } from '../space/record-space.ts';
import { recordsSql } from './record-sql.ts';

/** The record that is the key group of a space, as JSON text; null when there is none yet. */
export async function findKeyGroup(
  db: Database,
  space: RecordSpace,
  signal: AbortSignal,
): Promise<string | null> {
  const options = { sort: null, page: { limit: 1, offset: 0 } };
  const [row] = await db.rows<{ _record: string }>(recordsSql({ space, where: null, options }), signal);
  return row?._record ?? null;
}
