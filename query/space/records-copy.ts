import { textLiteral } from '#engine/literal.ts';
import { timestampText } from '#kernel/ids/row-values.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { type IdRange, rangeSql } from '#records/sql/id-range.ts';
import type { RecordStore } from '#records/store/record-store.ts';

/** Most records of a range, and most bytes that are held of it; a single record may be larger. */
const perRange = 50_000;
const mostBytes = 64 * 1024 * 1024;
/** Milliseconds by which the clocks of processes may differ. */
const clockSkew = 60_000;
/** Milliseconds for each statement on a range. */
const timeout = 60_000;

const content = '_id, _created_at, _updated_at, toString(_doc), toString(_hashes)';

interface Digest {
  readonly records: number;
  readonly rows: string;
  readonly recent: string;
}

/**
 * A copy of a space's records in another store, under another id. Each pass copies the ranges of ids that differ, whatever
 * is written meanwhile. So an interrupted copy can be resumed.
 */
export class RecordsCopy {
  readonly #store: Pick<RecordStore, 'db' | 'table'>;
  readonly #from: string;
  readonly #to: string;
  #ranges: readonly IdRange[];
  #since = new Date(0);

  /** @param args.where condition of the records to copy; absent: all */
  constructor(args: {
    readonly store: Pick<RecordStore, 'db' | 'table'>;
    readonly from: string;
    readonly to: string;
    readonly where?: string;
  }) {
    const { store, from, to, where } = args;
    this.#store = store;
    this.#from = from;
    this.#to = to;
    this.#ranges = [{ after: '', ...(where === undefined ? {} : { where }) }];
  }

  /**
   * Copies the ranges that differ. Returns the number of records in them.
   * @param report called after each range with the number of records copied so far
   */
  async pass(signal: AbortSignal, report: (records: number) => void = () => {}): Promise<number> {
    // the next pass compares the values of records that change from now on
    const began = new Date(Date.now() - clockSkew);
    let present = 0;
    let copied = 0;
    await this.#split(signal);
    for (const range of this.#ranges) {
      const wanted = await this.#digest(this.#from, range, signal);
      const found = await this.#digest(this.#to, range, signal);
      if (!areEqual(wanted, found)) {
        await this.#copy(range, { replaces: found.records > 0, records: wanted.records }, signal);
        copied += wanted.records + found.records;
      }
      present += wanted.records;
      report(present);
    }
    this.#since = began;
    return copied;
  }

  /** Splits the last range while it has too many records. The other ranges stay. */
  async #split(signal: AbortSignal): Promise<void> {
    const ranges = [...this.#ranges];
    for (;;) {
      const last = ranges.at(-1) as IdRange;
      const upTo = await this.#idAt(last, perRange, signal);
      if (upTo === undefined) break;
      ranges.splice(-1, 1, { ...last, upTo }, { ...last, after: upTo });
    }
    this.#ranges = ranges;
  }

  /** The id at an offset of a range. */
  async #idAt(range: IdRange, count: number, signal: AbortSignal): Promise<string | undefined> {
    const { db, table } = this.#store;
    const tail = `ORDER BY _id LIMIT 1 OFFSET ${count}`;
    const statement = table.select(this.#from, { columns: '_id', where: rangeSql(range), tail });
    const rows = await withDeadline(signal, timeout, (attempt) =>
      db.rows<{ _id: string }>({ ...statement, signal: attempt.signal }),
    );
    return rows[0]?._id;
  }

  /** Equal for equal records. Recently changed records are compared by value: two changes may have the same millisecond. */
  async #digest(id: string, range: IdRange, signal: AbortSignal): Promise<Digest> {
    const { db, table } = this.#store;
    const recent = `_updated_at >= toDateTime64(${textLiteral(timestampText(this.#since))}, 3, 'UTC')`;
    const one = (value: string, where = rangeSql(range)): string =>
      `(${table.select(id, { columns: value, where }).sql})`;
    const sql = `SELECT ${one('toFloat64(count())')} AS records,
      ${one('toString(groupBitXor(cityHash64(_id, _updated_at)))')} AS rows,
      ${one(`toString(groupBitXor(cityHash64(${content})))`, `${rangeSql(range)} AND ${recent}`)} AS recent`;
    const [digest] = await withDeadline(signal, timeout, (attempt) =>
      db.rows<Digest>({ sql, home: table.homeOf(id), signal: attempt.signal }),
    );
    return digest as Digest;
  }

  async #copy(
    range: IdRange,
    { replaces, records }: { readonly replaces: boolean; readonly records: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { db, table } = this.#store;
    const rows = await withDeadline(signal, timeout, (attempt) =>
      this.#read(range, records > 1, attempt.signal),
    );
    if (rows === null) {
      const half = Math.floor(records / 2) - 1;
      const middle = (await this.#idAt(range, Math.max(0, half), signal)) ?? range.after;
      await this.#copy({ ...range, upTo: middle }, { replaces, records: half + 1 }, signal);
      return this.#copy({ ...range, after: middle }, { replaces, records: records - half - 1 }, signal);
    }
    const home = table.homeOf(this.#to);
    if (replaces)
      await withDeadline(signal, timeout, (attempt) =>
        db.command({ ...table.clearRange(this.#to, range), signal: attempt.signal }),
      );
    if (rows.byteLength === 0) return;
    const insert = { ...table.recordRows, format: 'Native', lines: rows, home } as const;
    await withDeadline(signal, timeout, (attempt) => db.insert({ ...insert, signal: attempt.signal }));
  }

  /** Null: the records are too large to be held at once. */
  async #read(range: IdRange, several: boolean, signal: AbortSignal): Promise<Buffer | null> {
    const { db, table } = this.#store;
    const columns = `toUUID(${textLiteral(this.#to)}) AS space, * EXCEPT (space, _terms)`;
    const { sql, home } = table.select(this.#from, { columns, where: rangeSql(range) });
    // the conditions mean the column, not its alias
    const settings = 'prefer_column_name_to_alias = 1';
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of await db.stream({ sql, home, settings, format: 'Native', signal })) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > mostBytes && several) return null;
    }
    return Buffer.concat(chunks);
  }
}

function areEqual(one: Digest, other: Digest): boolean {
  return one.records === other.records && one.rows === other.rows && one.recent === other.recent;
}
