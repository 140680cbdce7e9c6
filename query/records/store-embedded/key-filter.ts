import { StreamedFilter } from '#engine/streamed-filter.ts';
import type { Log } from '#kernel/log/log.ts';
import { keyWords } from '../sql/record-keys.ts';
import type { Sql } from '../sql/records-table.ts';
import type { Engine, StoredKeys } from '../store/record-store.ts';

/** The least and the most keys that the filter is sized for (40 MB). */
const limits = { smallest: 1_000_000, largest: 32_000_000 };

/**
 * The unique values that may be stored, for the only writer of a store: a filter over the table of keys.
 * A value that is certainly new needs no statement.
 */
export class KeyFilter implements StoredKeys {
  readonly #filter = new StreamedFilter(limits);
  readonly #parts: Engine & { readonly log: Pick<Log, 'warn'> };

  constructor(parts: Engine & { readonly log: Pick<Log, 'warn'> }) {
    this.#parts = parts;
  }

  /** Called once. Until the filter is filled, any value may be stored. */
  fillLater(): void {
    const { db, table, log } = this.#parts;
    const source = {
      count: async () => (await db.rows<{ keys: number }>(table.countKeys()))[0]?.keys ?? 0,
      rows: () => db.stream({ ...table.allKeys(), format: 'RowBinary' }),
    };
    this.#filter.fillLater(source, 'unique values', log);
  }

  async addRows(rows: Sql): Promise<void> {
    await this.#filter.addAll(await this.#parts.db.stream({ ...rows, format: 'RowBinary' }));
  }

  add(spaceId: string, hash: string): void {
    this.#filter.add(...keyWords(spaceId, hash));
  }

  mayHave(spaceId: string, hash: string): boolean {
    return this.#filter.mayHave(...keyWords(spaceId, hash));
  }
}
