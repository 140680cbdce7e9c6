import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { chunksOf } from '#kernel/limits/chunks-of.ts';

/** Values in one statement. */
const atOnce = 1000;

/**
 * Deletes the rows whose column has a value that the SELECT finds. The values are read first: replicated tables take no
 * DELETE with a subquery.
 */
export async function deleteRows(
  db: Database,
  {
    table,
    column,
    found,
    more = '',
  }: { readonly table: string; readonly column: string; readonly found: string; readonly more?: string },
  signal: AbortSignal,
): Promise<void> {
  const rows = await db.rows<{ value: string }>({
    sql: `SELECT DISTINCT value FROM (${found})`,
    signal,
  });
  for (const some of chunksOf(rows, atOnce)) {
    const among = some.map(({ value }) => textLiteral(value)).join(', ');
    await db.command({ sql: `DELETE FROM ${table} WHERE ${column} IN (${among})${more}`, signal });
  }
}
