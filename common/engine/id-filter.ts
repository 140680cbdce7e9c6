import { hash } from 'node:crypto';
import type { Log } from '#kernel/log/log.ts';
import type { Database } from './database.ts';
import { StreamedFilter } from './streamed-filter.ts';

/** Least and greatest number of ids of the filter (20 MB). */
const limits = { smallest: 100_000, largest: 16_000_000 };

/**
 * A Bloom filter over the ids of all rows that a table ever had, for the only writer of a store. It saves the statement for
 * a row that certainly does not exist.
 */
export class IdFilter {
  readonly #filter = new StreamedFilter(limits);

  /** @param args.id SQL of a row's id as text @param args.what noun for its rows in the log */
  constructor(args: {
    readonly db: Database;
    readonly table: string;
    readonly id: string;
    readonly what: string;
    readonly log: Pick<Log, 'warn'>;
  }) {
    const { db, table, id, what, log } = args;
    const word = (at: number): string => `reinterpretAsUInt32(substring(MD5(${id}), ${at}, 4))`;
    const rows = `SELECT ${word(1)}, ${word(5)} FROM ${table}`;
    const count = `SELECT toFloat64(count()) AS ids FROM ${table}`;
    const source = {
      count: async () => (await db.rows<{ ids: number }>({ sql: count }))[0]?.ids ?? 0,
      rows: () => db.stream({ sql: rows, format: 'RowBinary' }),
    };
    this.#filter.fillLater(source, what, log);
  }

  /** Call it before the row is written. */
  add(id: string): void {
    this.#filter.add(...wordsOf(id));
  }

  /** False: the row never existed. */
  mayHave(id: string): boolean {
    return this.#filter.mayHave(...wordsOf(id));
  }
}

/** Words of a hash, because clients may choose similar ids. */
function wordsOf(id: string): [low: number, high: number] {
  const bytes = hash('md5', id, 'buffer');
  return [bytes.readInt32LE(0), bytes.readInt32LE(4)];
}
