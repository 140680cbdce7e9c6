import type { Database } from '../../common/clickhouse/database.ts';
import { recordsSql } from '../sql/record-sql.ts';

/**
 * The bytes of a JSON array of records, as the engine makes them: they are never parsed, and memory does not grow
 * with their number. Rejects when the statement fails before its first record.
 */
export async function streamRecords(
  db: Database,
  args: Omit<Parameters<typeof recordsSql>[0], 'prefix'>,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  // every line begins with a comma, and line breaks between elements are white space
  const sql = recordsSql({ ...args, prefix: ',' });
  const lines = await db.stream(sql, 'TSVRaw', signal, args.space.table);
  return asArray(lines);
}

const open = Buffer.from('[');
const close = Buffer.from(']');

/** Makes `[` of the first comma and ends the array. */
async function* asArray(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun = false;
  for await (const chunk of lines) {
    if (chunk.byteLength === 0) continue;
    yield begun ? chunk : Buffer.concat([open, chunk.subarray(1)]);
    begun = true;
  }
  yield begun ? close : Buffer.concat([open, close]);
}
