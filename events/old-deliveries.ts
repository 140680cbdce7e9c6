import type { Database } from '../common/clickhouse/database.ts';
import { textLiteral } from '../common/clickhouse/literal.ts';
import { type DeliveryTable, progressColumns } from './delivery-table.ts';

/** A delivery has up to a megabyte there. */
const page = 100;

/**
 * Takes over deliveries that an earlier version left pending in its own table, `webhook_deliveries`, where each row had
 * the whole body. During a rolling upgrade a process of that version still writes there, and may end at any time.
 * @param since other processes seen after it live; null: there are no others
 * @returns whether there were any
 */
export async function adoptOldDeliveries(
  { db, database, table }: { db: Database; database: string; table: DeliveryTable },
  process: string,
  since: Date | null,
): Promise<boolean> {
  const old = `${database}.webhook_deliveries`;
  const me = textLiteral(process);
  for (let pages = 0; ; pages++) {
    const rows = await db.rows<{ owner_id: string; id: string }>({
      sql: `SELECT owner_id, id FROM ${old} FINAL
        WHERE state = 'pending' AND ${table.isOrphan(process, since)} ORDER BY owner_id, id LIMIT ${page}`,
    });
    if (rows.length === 0) return pages > 0;
    const keys = rows.map(({ owner_id, id }) => `(${textLiteral(owner_id)}, ${textLiteral(id)})`);
    const these = `FROM ${old} FINAL WHERE (owner_id, id) IN (${keys.join(', ')})`;
    await db.command({
      sql: `INSERT INTO ${database}.webhook_calls (owner_id, id, created_at, space_id, event, project, space, url,
          record_ids, bytes, ${progressColumns.join(', ')}, content)
        SELECT owner_id, id, created_at, space_id, event, project, space, url,
          JSONExtract(body, 'recordIds', 'Array(String)'), length(body),
          ${me}, state, attempts, status, problem, now64(3, 'UTC'), next_at, expires_at, body ${these}`,
    });
    // they are in the new table by now: nobody takes them over again
    await db.command({
      sql: `INSERT INTO ${old} (owner_id, id, process, state, created_at, updated_at, next_at, expires_at, version)
        SELECT owner_id, id, ${me}, 'moved', created_at, now64(3, 'UTC'), next_at, expires_at, version + 1 ${these}`,
    });
  }
}
