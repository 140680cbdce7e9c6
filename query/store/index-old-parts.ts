import type { Database } from '../../common/clickhouse/database.ts';
import { homeIn } from '../../common/clickhouse/home.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Log } from '../../common/log/log.ts';
import { recordsTable } from '../../common/metadata/migrations/record-tables.ts';

/** Milliseconds. The engine goes on when it takes longer, and the next start does what is left. */
const limit = 3_600_000;

/**
 * Merges the parts of the records table that versions before the index of values wrote: until then the engine reads all
 * rows of such a part for each search. It takes the engine some 4 s of a core for a million records, while it answers.
 * Never rejects.
 */
export async function indexOldParts(
  {
    db,
    database,
    log,
  }: { readonly db: Database; readonly database: string; readonly log: Pick<Log, 'info' | 'warn'> },
  closing: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(limit)]);
  for (const { number } of db.stores.all) {
    const home = homeIn(number, recordsTable);
    const old = `SELECT toFloat64(sum(rows)) AS records FROM system.parts WHERE active AND database = ${textLiteral(database)}
      AND table = ${textLiteral(recordsTable)} AND rows > 0 AND secondary_indices_uncompressed_bytes = 0 AND NOT startsWith(name, 'patch-')`;
    try {
      const [{ records } = { records: 0 }] = await db.rows<{ records: number }>({ sql: old, home, signal });
      if (records === 0) continue;
      log.info({ records }, 'records of an older version are being indexed');
      await db.command({ sql: `OPTIMIZE TABLE ${database}.${recordsTable} FINAL`, home, signal });
      log.info({ records }, 'records of an older version are indexed');
    } catch (error) {
      if (!closing.aborted)
        log.warn(
          { err: error },
          'records of an older version are not indexed: OPTIMIZE TABLE ... FINAL does it',
        );
    }
  }
}
