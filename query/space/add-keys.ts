import type { RecordStore } from '../store/record-store.ts';

/**
 * Writes keys for all stored values of a slot. It need not be within `rewrite`: no record changes, and a key says only that
 * a record may have the value. Those who write meanwhile write their keys themselves, or are within the same `rewrite`.
 */
export async function addKeys(
  { db, table, keys }: RecordStore,
  recordsId: string,
  slot: string,
  signal: AbortSignal,
): Promise<void> {
  await db.command({ ...table.addKeys(recordsId, slot), signal });
  await keys.addSpace(recordsId);
}
