import type { Database } from '../../common/clickhouse/database.ts';
import type { Log } from '../../common/log/log.ts';
import { StreamedFilter } from '../unique/streamed-filter.ts';

/** Spaces that the filter is made for at least, and at most (20 MB). */
const limits = { smallest: 100_000, largest: 16_000_000 };

/**
 * Which spaces may be in the catalogue, for a process that is the only writer of its store: a filter over the ids of all
 * that ever were. A space that is surely new needs no look into the engine.
 */
export class SpaceFilter {
  readonly #filter = new StreamedFilter(limits);

  /** Called once. Rejects when the table can't be read; then every space may be there. @param args.table of the catalogue */
  fill({ db, table }: { readonly db: Database; readonly table: string }): Promise<void> {
    const bytes = 'UUIDStringToNum(toString(id))';
    const word = (at: number): string => `reinterpretAsUInt32(substring(${bytes}, ${at}, 4))`;
    const rows = `SELECT ${word(9)}, ${word(13)} FROM ${table}`;
    const count = `SELECT toFloat64(count()) AS spaces FROM ${table}`;
    return this.#filter.fill({
      count: async () => (await db.rows<{ spaces: number }>({ sql: count }))[0]?.spaces ?? 0,
      rows: () => db.stream({ sql: rows, format: 'RowBinary' }),
    });
  }

  /** To be called before the first version of a space is written. */
  add(id: string): void {
    this.#filter.add(...wordsOf(id));
  }

  /** False: there never was such a space. */
  mayHave(id: string): boolean {
    return this.#filter.mayHave(...wordsOf(id));
  }
}

/** The last eight bytes of an id, which is a hash. */
function wordsOf(id: string): [low: number, high: number] {
  const bytes = Buffer.from(id.slice(19).replace('-', ''), 'hex');
  return [bytes.readInt32LE(0), bytes.readInt32LE(4)];
}

/** Fills a filter in the background; requests do without it until then. */
export function openSpaceFilter(deps: {
  readonly db: Database;
  readonly table: string;
  readonly log: Pick<Log, 'warn'>;
}): SpaceFilter {
  const filter = new SpaceFilter();
  filter.fill(deps).catch((error: unknown) => {
    deps.log.warn({ err: error }, 'the filter of record spaces could not be made: each is looked up');
  });
  return filter;
}
