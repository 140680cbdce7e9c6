import { recordOverhead } from '../records/record-quota.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { TableCatalogue } from './table-catalogue.ts';

/** Milliseconds. */
const timeout = 60_000;

/** Asks the store how many bytes of records an account has, in all of its spaces. */
export async function countRecordBytes(
  { store: { db, table }, catalogue }: { readonly store: RecordStore; readonly catalogue: TableCatalogue },
  account: string,
): Promise<number> {
  const signal = AbortSignal.timeout(timeout);
  const spaces = await catalogue.idsOfOwner(account, signal);
  let sum = 0;
  for (const ids of table.together(spaces.map(({ recordsId }) => recordsId))) {
    const statement = table.sumBytes(ids, recordOverhead);
    const [row] = await db.rows<{ bytes: number }>({ ...statement, signal, account });
    sum += row?.bytes ?? 0;
  }
  return sum;
}
