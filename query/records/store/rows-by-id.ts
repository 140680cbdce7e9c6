import type { RecordAddress } from '../sql/addresses-sql.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { Engine } from './record-store.ts';

/** Looks up records of any spaces of one home by their ids; null for a missing one. */
export async function rowsById(
  { db, table }: Engine,
  addresses: readonly RecordAddress[],
  signal: AbortSignal,
): Promise<(address: RecordAddress) => StoredRow | null> {
  const rows = await db.rows<StoredRow & { readonly _space: string }>({
    ...table.selectByIds(addresses, rowColumns),
    signal,
  });
  const byAddress = new Map(rows.map((row) => [`${row._space} ${row._id}`, row]));
  return ({ spaceId, id }) => byAddress.get(`${spaceId} ${id}`) ?? null;
}
