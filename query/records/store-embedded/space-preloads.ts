import { LRUCache } from 'lru-cache';
import { upTo } from '#kernel/limits/up-to.ts';
import type { Log } from '#kernel/log/log.ts';
import type { RowSizes } from '../memory/held-bytes.ts';
import type { TableLoad } from '../memory/memory-tables.ts';
import { PackedRows } from '../sql/packed-row.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { Engine } from '../store/record-store.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { uniqueSlots } from '../structure/slots.ts';
import type { KnownRecords } from './known-records.ts';

interface SpacePreloadsParts extends Engine {
  readonly known: Pick<KnownRecords, 'load' | 'tables' | 'lastBlock'>;
  readonly log: Pick<Log, 'warn'>;
  /** Look-ups that the table answers before a preload is considered. */
  readonly fewestMisses?: number | undefined;
}

/** The engine's work for a space, measured in look-ups. */
interface Misses {
  count: number;
  /** From this count on, reading the whole space pays off. */
  threshold: number;
  /** Until then it is not tried again. */
  notBefore: number;
}

/** A preload costs some 4 microseconds a record, a look-up in the table some 400, and a search some 8,000. */
const recordsPerMiss = 500;
const costs = { 'look-up': 1, search: 20 } as const;
const usualFewest = 64;
const keptSpaces = 10_000;
/** Milliseconds before another try, when a space does not fit or can't be read. */
const pause = 600_000;
/** Its reads have a separate queue: they do not wait behind the finds that they replace. */
const readsOfItsOwn = 'preloads';
/** Records for the first estimate of the size of a space. */
const sampledRecords = 1000;
/** Milliseconds before a preload yields to the event loop. */
const busyFor = 2;
/** Bytes of a record received in part: a space with larger records is not kept. */
const largestRest = 1024 * 1024;

/**
 * Loads the records of frequently read spaces into memory, as far as they fit. One space at a time,
 * in the background, in small pieces.
 */
export class SpacePreloads {
  readonly #parts: SpacePreloadsParts;
  readonly #misses = new LRUCache<string, Misses>({ ...upTo(keptSpaces) });
  readonly #fewest: number;
  #running: Promise<void> | null = null;
  #load: TableLoad | null = null;
  #closed = false;

  constructor(parts: SpacePreloadsParts) {
    this.#parts = parts;
    this.#fewest = parts.fewestMisses ?? usualFewest;
  }

  /** To be called when the engine had to be queried for the space. */
  missed(space: RecordSpace, kind: keyof typeof costs): void {
    const { known } = this.#parts;
    if (!known.tables.keeps || known.tables.has(space.id)) return;
    let misses = this.#misses.get(space.id);
    if (misses === undefined) {
      misses = { count: 0, threshold: this.#fewest, notBefore: 0 };
      this.#misses.set(space.id, misses);
    }
    misses.count += costs[kind];
    if (misses.count < misses.threshold || this.#running !== null || this.#closed) return;
    // of records that the table lacks, neither the number nor the size is known
    if (misses.notBefore > performance.now() || known.lastBlock(space.id) !== undefined) return;
    this.#running = this.#preload(space, misses).finally(() => {
      this.#running = null;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#load?.giveUp();
    await this.#running;
  }

  /** Never rejects. */
  async #preload(space: RecordSpace, misses: Misses): Promise<void> {
    const { tables } = this.#parts.known;
    try {
      const some = await this.#sizesOf(space, sampledRecords);
      misses.threshold = Math.max(this.#fewest, some.count / recordsPerMiss);
      if (misses.count < misses.threshold) return;
      misses.count = 0;
      const unique = uniqueSlots(space.stored);
      const hasRoom = (sizes: RowSizes): boolean =>
        tables.hasRoom(space.ownerId, tables.bytesOf(space.id, unique, sizes));
      // a preload that can't finish would be repeated forever
      const fits =
        hasRoom(some) &&
        (some.count <= sampledRecords || hasRoom(await this.#sizesOf(space))) &&
        (await this.#read(space));
      if (!fits) misses.notBefore = performance.now() + pause;
    } catch (error) {
      misses.notBefore = performance.now() + pause;
      if (!this.#closed)
        this.#parts.log.warn({ err: error, space: space.id }, 'a space could not be preloaded');
    }
  }

  /** @param some number of records for an estimate */
  async #sizesOf({ id }: RecordSpace, some?: number): Promise<RowSizes> {
    const { db, table } = this.#parts;
    const [sizes] = await db.rows<RowSizes>({ ...table.sizeOf(id, some), account: readsOfItsOwn });
    return sizes as RowSizes;
  }

  /** @returns whether there is room for all records */
  async #read({ id, ownerId, stored }: RecordSpace): Promise<boolean> {
    const { db, table, known } = this.#parts;
    // before reading begins: writes from here on replace the rows that are read
    const load = known.load(id, ownerId, uniqueSlots(stored));
    if (load === null || this.#closed) return true;
    this.#load = load;
    try {
      const { signal } = load;
      const { sql, home } = table.select(id, { columns: rowColumns });
      const rows = new PackedRows();
      const read = { sql, home, format: 'RowBinary', signal, account: readsOfItsOwn } as const;
      for await (const piece of await db.stream(read)) {
        rows.add(piece);
        for (let began = performance.now(); load.add(rows); ) {
          if (performance.now() - began < busyFor) continue;
          // let other work run
          await new Promise<void>((resolve) => setImmediate(resolve));
          began = performance.now();
        }
        if (rows.rest > largestRest) return false;
        if (signal.aborted) break;
      }
      load.end();
    } catch (error) {
      if (!load.signal.aborted) throw error;
    } finally {
      load.giveUp();
      this.#load = null;
    }
    return !load.isUnfit();
  }
}
