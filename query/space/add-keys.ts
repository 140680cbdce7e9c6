import type { RecordStore } from '../store/record-store.ts';

/** Writes keys for all stored values of a slot. */
export async function addKeys(
  { db, table, keys }: RecordStore,
  recordsId: string,
  slot: string,
  signal: AbortSignal,
): Promise<void> {
  await db.command({ ...table.addKeys(recordsId, slot), signal });
  await keys.addSpace(recordsId);
}
