import { LRUCache } from 'lru-cache';
import type { Database } from '../../common/clickhouse/database.ts';
import type { Log } from '../../common/log/log.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { uniqueSlots } from '../unique/unique-values.ts';
import type { KnownRecords } from './known-records.ts';
import type { RecordLoad } from './record-load.ts';
import { rowColumns } from './record-row.ts';

interface Deps {
  readonly db: Database;
  readonly table: RecordsTable;
  readonly known: Pick<KnownRecords, 'keeps' | 'load' | 'room'>;
  readonly log: Pick<Log, 'warn'>;
  /** Look-ups that the table answers before a preload is thought of. */
  readonly fewestMisses?: number | undefined;
}

/** Look-ups of a space that the table had to answer. */
interface Misses {
  count: number;
  /** So many are worth another preload. */
  enough: number;
  /** How often in turn nearly all that was read was known already. */
  vain: number;
  /** Until then it is left alone. */
  notBefore: number;
}

/** A preload costs some 3.5 microseconds a record, and a look-up in the table some 400: four times what these did. */
const recordsPerMiss = 500;
const usualFewest = 64;
const keptSpaces = 10_000;
/** Milliseconds for which a space is left alone that does not fit, or can't be read. */
const pause = 600_000;
/** Bytes that a record takes beside what its map has as text. */
const recordOverhead = 100;
/** Bytes of a record that is not whole yet: a space with such records is not kept. */
const largestRest = 1024 * 1024;

/**
 * Brings the records of spaces that are looked up again and again into memory, as far as they fit there: a look-up in the
 * table costs a hundred times more. One space at a time, in the background, in small pieces.
 */
export class SpacePreloads {
  readonly #deps: Deps;
  readonly #misses = new LRUCache<string, Misses>({ max: keptSpaces });
  readonly #fewest: number;
  #running: Promise<void> | null = null;
  #load: RecordLoad | null = null;
  #closed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#fewest = deps.fewestMisses ?? usualFewest;
  }

  /** A look-up of the space was not answered by what is known. */
  missed(space: RecordSpace): void {
    if (!this.#deps.known.keeps) return;
    let misses = this.#misses.get(space.id);
    if (misses === undefined) {
      misses = { count: 0, enough: this.#fewest, vain: 0, notBefore: 0 };
      this.#misses.set(space.id, misses);
    }
    misses.count++;
    if (misses.count < misses.enough || this.#running !== null || this.#closed) return;
    if (misses.notBefore > performance.now()) return;
    this.#running = this.#preload(space, misses).finally(() => {
      this.#running = null;
    });
  }

  /** Resolves when nothing is read any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#load?.end();
    await this.#running;
  }

  /** Never rejects. */
  async #preload(space: RecordSpace, misses: Misses): Promise<void> {
    try {
      const { records, bytes } = await this.#sizeOf(space);
      misses.enough = Math.max(this.#fewest, records / recordsPerMiss) * 2 ** misses.vain;
      if (misses.count < misses.enough) return;
      misses.count = 0;
      const kept = bytes > this.#deps.known.room ? null : await this.#read(space);
      if (kept === null) misses.notBefore = performance.now() + pause;
      // what is not found although all are here is not worth the same again
      else misses.vain = kept * 10 < records ? misses.vain + 1 : 0;
    } catch (error) {
      misses.notBefore = performance.now() + pause;
      if (!this.#closed)
        this.#deps.log.warn({ err: error, space: space.id }, 'a space could not be preloaded');
    }
  }

  async #sizeOf({ id, ownerId }: RecordSpace): Promise<{ records: number; bytes: number }> {
    const { db, table } = this.#deps;
    const [row] = await db.rows<{ _rows: number; _length: number }>({
      ...table.sizeOf(id),
      account: ownerId,
    });
    const { _rows: records = 0, _length: length = 0 } = row ?? {};
    return { records, bytes: records * (length + recordOverhead) };
  }

  /** @returns how many records were not known yet; null: there is no room for all */
  async #read({ id, ownerId, stored }: RecordSpace): Promise<number | null> {
    const { db, table, known } = this.#deps;
    // before the reading begins: what is written from here on is left out
    const load = known.load(id, uniqueSlots(stored));
    if (load === null || this.#closed) return null;
    this.#load = load;
    try {
      const { signal } = load;
      const { sql, home } = table.select(id, { columns: rowColumns });
      let rest: Buffer = Buffer.alloc(0);
      for await (const piece of await db.stream({
        sql,
        home,
        format: 'RowBinary',
        signal,
        account: ownerId,
      })) {
        const rows = Buffer.concat([rest, piece]);
        rest = rows.subarray(load.add(rows));
        if (rest.byteLength > largestRest) return null;
        // other work comes in between
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (signal.aborted) break;
      }
    } catch (error) {
      if (!load.signal.aborted) throw error;
    } finally {
      load.end();
      this.#load = null;
    }
    return load.full ? null : load.kept;
  }
}
