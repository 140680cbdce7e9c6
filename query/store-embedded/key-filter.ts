import type { Database } from '../../common/clickhouse/database.ts';
import { StreamedFilter } from '../../common/clickhouse/streamed-filter.ts';
import type { Log } from '../../common/log/log.ts';
import { keyWords } from '../sql/record-keys.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { StoredKeys } from '../store/record-store.ts';

/** Keys that the filter is made for at least, and at most (40 MB). */
const limits = { smallest: 1_000_000, largest: 32_000_000 };

/**
 * Which unique values may be stored, for a process that is the only writer of its store: a filter over the table of keys.
 * A value that is surely new needs no statement.
 */
export class KeyFilter implements StoredKeys {
  readonly #filter = new StreamedFilter(limits);
  readonly #db: Database;
  readonly #table: RecordsTable;
  readonly #log: Pick<Log, 'warn'>;

  constructor({ db, table, log }: { db: Database; table: RecordsTable; log: Pick<Log, 'warn'> }) {
    this.#db = db;
    this.#table = table;
    this.#log = log;
  }

  /** Called once. Until it is filled every value may be stored. */
  fillLater(): void {
    const [db, table] = [this.#db, this.#table];
    const source = {
      count: async () => (await db.rows<{ keys: number }>(table.countKeys()))[0]?.keys ?? 0,
      rows: () => db.stream({ ...table.allKeys(), format: 'RowBinary' }),
    };
    this.#filter.fillLater(source, 'unique values', this.#log);
  }

  async addSpace(spaceId: string): Promise<void> {
    const keys = await this.#db.stream({ ...this.#table.allKeys(spaceId), format: 'RowBinary' });
    await this.#filter.addAll(keys);
  }

  add(spaceId: string, hash: string): void {
    this.#filter.add(...keyWords(spaceId, hash));
  }

  mayHave(spaceId: string, hash: string): boolean {
    return this.#filter.mayHave(...keyWords(spaceId, hash));
  }
}
