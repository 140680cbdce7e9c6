import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../common/log/log.ts';
import type { RecordStore } from '../store/record-store.ts';
import { TableCatalogue } from './table-catalogue.ts';

export interface ClearSlotDeps {
  readonly store: RecordStore;
  readonly log?: Pick<Log, 'warn'> | undefined;
}

/** A field that a space had, whose values nobody sees any more. */
export interface RetiredSlot {
  readonly recordsId: string;
  readonly slot: string;
}

/** Records of one UPDATE: the table's other updates wait for it. */
const recordsAtOnce = 20_000;
/** In which others have their turn. Milliseconds. */
const pause = 50;

/**
 * Takes the values of a dropped field out of the records, some at a time. Nobody waits for it: they are seen by nobody,
 * and the next start does what is left. Never rejects.
 */
export async function clearSlot(
  { store, log }: ClearSlotDeps,
  { recordsId, slot }: RetiredSlot,
  signal?: AbortSignal,
): Promise<void> {
  const { db, table } = store;
  const clear = async (after: string, upTo: string | undefined): Promise<void> => {
    await db.command({ ...table.dropSlot(recordsId, slot, { after, upTo }), signal });
  };
  const nextId = async (after: string, skip: number): Promise<string | undefined> => {
    const rows = await db.rows<{ _id: string }>({
      ...table.nextOfSlot(recordsId, slot, after, skip),
      signal,
    });
    return rows[0]?._id;
  };
  try {
    for (let after = ''; (await nextId(after, 0)) !== undefined; ) {
      const from = after;
      const last = await nextId(from, recordsAtOnce - 1);
      await store.tidy(recordsId, () => clear(from, last));
      if (last === undefined) return;
      after = last;
      await sleep(pause, undefined, { signal });
    }
  } catch (error) {
    if (!signal?.aborted)
      log?.warn({ err: error, space: recordsId }, 'values of a dropped field are left to the next start');
  }
}

/** Clears what earlier processes left of dropped fields. Never rejects. */
export async function sweepRetired(
  deps: { readonly store: RecordStore; readonly database: string; readonly log: Pick<Log, 'warn'> },
  signal: AbortSignal,
): Promise<void> {
  const catalogue = new TableCatalogue({ db: deps.store.db, database: deps.database });
  try {
    for (const retired of await catalogue.retiredSlots(signal)) {
      await clearSlot(deps, retired, signal);
    }
  } catch (error) {
    if (!signal.aborted) deps.log.warn({ err: error }, 'values of dropped fields are left to the next start');
  }
}
