import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { RecordSpace } from '../space/record-space.ts';
import { recordsSql } from './record-sql.ts';

/** The record with an id as JSON text; null when there is none. */
export async function findById(
  db: Database,
  space: RecordSpace,
  id: string,
  signal: AbortSignal,
): Promise<string | null> {
  const options = { sort: null, page: { limit: 1, offset: 0 } };
  const [row] = await db.rows<{ _record: string }>(
    recordsSql({ space, where: `_id = ${textLiteral(id)}`, options }),
    signal,
  );
  return row?._record ?? null;
}
