import type { Database } from '../../common/clickhouse/database.ts';
import { StreamedFilter } from '../../common/clickhouse/streamed-filter.ts';
import type { Log } from '../../common/log/log.ts';
import { keyWords, type RecordsTable } from '../sql/records-table.ts';

/** Keys that the filter is made for at least, and at most (40 MB). */
const limits = { smallest: 1_000_000, largest: 32_000_000 };

interface Tables {
  readonly db: Database;
  readonly table: RecordsTable;
}

/**
 * Which unique values may be stored, for a process that is the only writer of its store: a filter over the table of keys.
 * A value that is surely new needs no look into the engine.
 */
export class KeyFilter {
  readonly #filter = new StreamedFilter(limits);

  /** Called once. Rejects when the table can't be read; then every value may be stored. */
  fill({ db, table }: Tables): Promise<void> {
    return this.#filter.fill({
      count: async () => (await db.rows<{ keys: number }>(table.countKeys()))[0]?.keys ?? 0,
      rows: () => db.stream({ ...table.allKeys(), format: 'RowBinary' }),
    });
  }

  /** Adds the keys of a space that were written without it. */
  async addSpace(spaceId: string, { db, table }: Tables): Promise<void> {
    await this.#filter.addAll(await db.stream({ ...table.allKeys(spaceId), format: 'RowBinary' }));
  }

  /** To be called before a key is written. @param hash of the value (`hashOf`) */
  add(spaceId: string, hash: string): void {
    this.#filter.add(...keyWords(spaceId, hash));
  }

  /** The same for a key that was made before. */
  addKey(spaceId: string, key: bigint): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(key);
    this.add(spaceId, bytes.toString('latin1'));
  }

  /** False: no record of the space has the value, and none had. */
  mayHave(spaceId: string, hash: string): boolean {
    return this.#filter.mayHave(...keyWords(spaceId, hash));
  }
}

/** Fills a filter in the background; requests do without it until then. */
export function openKeyFilter(deps: Tables & { readonly log?: Pick<Log, 'warn'> | undefined }): KeyFilter {
  const filter = new KeyFilter();
  filter.fill(deps).catch((error: unknown) => {
    deps.log?.warn({ err: error }, 'the filter of unique values could not be made: each is looked up');
  });
  return filter;
}
