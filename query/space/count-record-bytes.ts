import { recordOverhead } from '../records/record-quota.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

/** Milliseconds. */
const timeout = 60_000;
/** Spaces of one statement, whose ids are its text. */
const spacesAtOnce = 1000;

/** Asks the store how many bytes of records an account has, in all of its spaces. */
export function countRecordBytes(deps: {
  readonly store: RecordStore;
  readonly catalogue: SpaceCatalogue;
}): (account: string) => Promise<number> {
  const { store, catalogue } = deps;
  const { db, table } = store;
  return async (account) => {
    const signal = AbortSignal.timeout(timeout);
    const byHome = new Map<string, string[]>();
    for (const { recordsId } of await catalogue.idsOfOwner(account, signal)) {
      const home = table.homeOf(recordsId);
      byHome.set(home, [...(byHome.get(home) ?? []), recordsId]);
    }
    let sum = 0;
    for (const ids of byHome.values()) {
      for (let from = 0; from < ids.length; from += spacesAtOnce) {
        const statement = table.sumBytes(ids.slice(from, from + spacesAtOnce), recordOverhead);
        const [row] = await db.rows<{ bytes: number }>({ ...statement, signal, account });
        sum += row?.bytes ?? 0;
      }
    }
    return sum;
  };
}
