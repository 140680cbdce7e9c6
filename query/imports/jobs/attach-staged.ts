import type { Database } from '#engine/database.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import type { StagedRecords } from '#records/sql/staged-records.ts';

const mostAttempts = 5;
/** The engine's name for the error. It compares the tables before it attaches anything. */
const otherColumns = 'INCOMPATIBLE_COLUMNS';

/** Another request may add a column to the records table just before the statement, which is then repeated. */
export async function attachStaged(
  db: Pick<Database, 'rows' | 'command'>,
  staged: StagedRecords,
  permit: WritePermit | undefined,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const missing = await db.rows<{ name: string; type: string }>(staged.missing());
    if (missing.length > 0) await db.command(staged.widen(missing));
    try {
      await db.command({ ...staged.attach(), permit });
      return;
    } catch (error) {
      if (attempt === mostAttempts || !(error as Error).message.includes(otherColumns)) throw error;
    }
  }
}
