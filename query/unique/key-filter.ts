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
 * A value that is surely new needs no statement.
 */
export class KeyFilter {
  readonly #filter = new StreamedFilter(limits);

  constructor({ db, table, log }: Tables & { readonly log?: Pick<Log, 'warn'> | undefined }) {
    const source = {
      count: async () => (await db.rows<{ keys: number }>(table.countKeys()))[0]?.keys ?? 0,
      rows: () => db.stream({ ...table.allKeys(), format: 'RowBinary' }),
    };
    this.#filter.fillLater(source, 'unique values', log);
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
