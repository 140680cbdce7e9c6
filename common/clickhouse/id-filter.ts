import { hash } from 'node:crypto';
import type { Log } from '../log/log.ts';
import type { Database } from './database.ts';
import { StreamedFilter } from './streamed-filter.ts';

/** Ids that the filter is made for at least, and at most (20 MB). */
const limits = { smallest: 100_000, largest: 16_000_000 };

interface IdColumn {
  readonly db: Database;
  readonly table: string;
  /** SQL of a row's id as text. */
  readonly id: string;
}

/**
 * Which rows a table may have, for a process that is the only writer of its store: a filter over the ids of all that ever
 * were. One that is surely not there needs no look into the engine.
 */
export class IdFilter {
  readonly #filter = new StreamedFilter(limits);

  /** Called once. Rejects when the table can't be read; then every row may be there. */
  fill({ db, table, id }: IdColumn): Promise<void> {
    const word = (at: number): string => `reinterpretAsUInt32(substring(MD5(${id}), ${at}, 4))`;
    const rows = `SELECT ${word(1)}, ${word(5)} FROM ${table}`;
    const count = `SELECT toFloat64(count()) AS ids FROM ${table}`;
    return this.#filter.fill({
      count: async () => (await db.rows<{ ids: number }>({ sql: count }))[0]?.ids ?? 0,
      rows: () => db.stream({ sql: rows, format: 'RowBinary' }),
    });
  }

  /** To be called before the row is written. */
  add(id: string): void {
    this.#filter.add(...wordsOf(id));
  }

  /** False: there never was such a row. */
  mayHave(id: string): boolean {
    return this.#filter.mayHave(...wordsOf(id));
  }
}

/** Of a hash: who asks may choose an id that is like one that is there. */
function wordsOf(id: string): [low: number, high: number] {
  const bytes = hash('md5', id, 'buffer');
  return [bytes.readInt32LE(0), bytes.readInt32LE(4)];
}

/** Fills a filter in the background; requests do without it until then. @param deps.what the table has */
export function openIdFilter(
  deps: IdColumn & { readonly what: string; readonly log: Pick<Log, 'warn'> },
): IdFilter {
  const filter = new IdFilter();
  filter.fill(deps).catch((error: unknown) => {
    deps.log.warn({ err: error }, `the filter of ${deps.what} could not be made: each is looked up`);
  });
  return filter;
}
