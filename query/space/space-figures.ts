import { LRUCache } from 'lru-cache';
import { forEachAtOnce } from '#kernel/limits/for-each-at-once.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import { recordOverhead } from '#records/record-quota.ts';
import { storeOfRecords } from '#records/sql/id-in-store.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { SpacesParts } from './spaces-deps.ts';

export interface SpaceFigures {
  readonly records: number;
  /** The size of all values as text, estimated from a sample of the records. */
  readonly bytes: number;
}

/** Records from which the size of a space is estimated. */
const sampled = 100;
/** Estimates in the cache, and milliseconds for which they are used. */
const cachedEstimates = 10_000;
const cachedFor = 600_000;
/** Spaces that are sampled at once. */
const samplesAtOnce = 4;

/**
 * The sizes of spaces. Records are counted by reading only the primary key, at a hundred million rows a second. Bytes are
 * estimated from a sample, which is taken once in a while.
 */
export class SpaceSizes {
  readonly #store: RecordStore;
  readonly #average = new LRUCache<string, number>({ ...upTo(cachedEstimates), ttl: cachedFor });

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** @param ids of the spaces' records, all of one account */
  async of(
    ids: readonly string[],
    account: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, SpaceFigures>> {
    const { db, table } = this.#store;
    const available = ids.filter((id) => isAvailable(this.#store, id));
    const counted = await Promise.all(
      [...table.together(available)].map((group) =>
        this.#unlessDown(
          group,
          db.rows<{ _space: string; count: number }>({ ...table.countAll(group), signal, account }),
        ),
      ),
    );
    const figures = new Map<string, SpaceFigures>();
    await forEachAtOnce(counted.flat(), samplesAtOnce, async ({ _space: id, count: records }) => {
      const average = await this.#averageOf(id, account, signal);
      figures.set(id, { records, bytes: Math.round(records * average) });
    });
    return figures;
  }

  /** Empty if the store went down meanwhile. */
  async #unlessDown<Row>([id]: readonly string[], counted: Promise<Row[]>): Promise<Row[]> {
    try {
      return await counted;
    } catch (error) {
      if (id !== undefined && !isAvailable(this.#store, id)) return [];
      throw error;
    }
  }

  async #averageOf(id: string, account: string, signal: AbortSignal): Promise<number> {
    const known = this.#average.get(id);
    if (known !== undefined) return known;
    const { db, table } = this.#store;
    const statement = table.select(id, {
      columns: 'toFloat64(byteSize(_doc)) AS size',
      tail: `LIMIT ${sampled}`,
    });
    const rows = await db.rows<{ size: number }>({ ...statement, signal, account });
    const average = rows.reduce((sum, { size }) => sum + size, 0) / Math.max(1, rows.length);
    this.#average.set(id, average);
    return average;
  }
}

/** Whether the store of these records is available. */
export function isAvailable({ db }: Pick<RecordStore, 'db'>, recordsId: string): boolean {
  const number = storeOfRecords(recordsId);
  return db.stores.all.some((store) => store.number === number && store.available);
}

/** Counts the bytes of an account's records, in all spaces whose stores are available. */
export async function countRecordBytes(
  { store, catalogue }: Pick<SpacesParts, 'store' | 'catalogue'>,
  account: string,
  signal: AbortSignal,
): Promise<number> {
  const { db, table } = store;
  const spaces = await catalogue.idsOfOwner(account, signal);
  const available = spaces.map(({ recordsId }) => recordsId).filter((id) => isAvailable(store, id));
  let sum = 0;
  for (const ids of table.together(available)) {
    const statement = table.sumBytes(ids, recordOverhead);
    const [row] = await db.rows<{ bytes: number }>({ ...statement, signal, account });
    sum += row?.bytes ?? 0;
  }
  return sum;
}
