import type { Session } from 'chdb';
import type { InsertStatement } from './database.ts';
import { wholeBlockSettings } from './engine-settings.ts';
import { insertTarget } from './insert-target.ts';
import { settingsText } from './literal.ts';
import type { WritePermit } from './write-permit.ts';

/**
 * Bytes from which rows go to the engine as they are. As text of a statement they are copied on the event loop: 18 MB
 * take 10 to 500 ms, the more when not all of it is ASCII. A few rows cost less as text.
 */
const rawBytes = 64 * 1024;

/** Stores rows as one block. */
export async function insertBlock(
  session: Session,
  { table, columns, lines, token }: Omit<InsertStatement, 'signal' | 'permit' | 'home'>,
  permit: WritePermit | undefined,
): Promise<void> {
  const settings: Record<string, string | number> = {
    ...wholeBlockSettings,
    ...(permit === undefined ? {} : { max_execution_time: permit.timeLimit / 1000 }),
    insert_deduplicate: token === undefined ? 0 : 1,
    ...(token === undefined ? {} : { insert_deduplication_token: token }),
  };
  const { into, format } = insertTarget(table, columns);
  if (lines.byteLength >= rawBytes) {
    const named = columns === undefined ? {} : { columns };
    await session.insert({ table, ...named, values: lines, format, settings });
    return;
  }
  await session.queryAsync(`${into} SETTINGS ${settingsText(settings)} FORMAT ${format}\n${textOf(lines)}`);
}

/** Without a copy of the bytes. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
}
