import { join } from 'node:path';
import type { Database } from '#engine/database.ts';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { lookupShape, shapesOf } from '../memory/index-shape.ts';
import { MemoryTables } from '../memory/memory-tables.ts';
import { hashOf } from '../sql/record-keys.ts';
import { RecordsTable } from '../sql/records-table.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { cacheShares } from '../store/cache-shares.ts';
import type {
  FoundNow,
  LookupKey,
  RecordStore,
  RecordWrites,
  StopListening,
  WritableStore,
} from '../store/record-store.ts';
import type { ChangeListener } from '../store/row-change.ts';
import { SharedReads } from '../store/shared-reads.ts';
import { whileWriting } from '../store/statement-writes.ts';
import type { StoreFind } from '../store/store-find.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { KeyFilter } from './key-filter.ts';
import { KnownRecords } from './known-records.ts';
import { LoggedWrites } from './logged-writes.ts';
import { afterPending, PendingRecords } from './pending-records.ts';
import { ResultCache } from './result-cache.ts';
import { SpacePreloads } from './space-preloads.ts';

interface EmbeddedStoreArgs {
  readonly db: Database;
  readonly database: string;
  readonly known: KnownRecords;
  readonly pending: PendingRecords;
  readonly preloads: SpacePreloads;
  readonly results: ResultCache;
  readonly log: Pick<Log, 'warn'>;
  readonly metrics: Pick<Metrics, 'batch'>;
}

/**
 * The store of a process with an exclusive engine. A write is acknowledged when it is in a write-ahead log; the
 * table follows. Reads are answered from rows in memory, from cached results, and by statements.
 */
export class EmbeddedStore implements WritableStore {
  readonly singleWriter = true;
  readonly db: Database;
  readonly table: RecordsTable;
  readonly results: ResultCache;
  readonly keys: KeyFilter;
  readonly insert: RecordWrites['insert'];
  readonly change: RecordWrites['change'];
  readonly #lock = new ReadWriteLock();
  readonly #known: KnownRecords;
  readonly #pending: PendingRecords;
  readonly #preloads: SpacePreloads;
  readonly #tables: MemoryTables;
  readonly #reads: SharedReads;
  readonly #listeners = new Map<string, ChangeListener>();

  /** First flushes the log of an earlier process into the table. */
  static async open(args: {
    readonly db: Database;
    readonly database: string;
    readonly config: { readonly dataDir: string; readonly recordCacheBytes: number };
    readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
    readonly metrics: Pick<Metrics, 'batch' | 'cache'>;
  }): Promise<EmbeddedStore> {
    const { db, database, config, log, metrics } = args;
    const shares = cacheShares(config.recordCacheBytes);
    const table = new RecordsTable(db, database);
    const known = new KnownRecords(new MemoryTables(shares.rows));
    const directory = join(config.dataDir, 'record-log');
    const pending = await PendingRecords.open({ db, table, known, directory, log });
    const preloads = new SpacePreloads({ db, table, known, log });
    const results = new ResultCache(shares.results, metrics.cache('records'));
    return new EmbeddedStore({ db, database, known, pending, preloads, results, log, metrics });
  }

  constructor(args: EmbeddedStoreArgs) {
    const { database, known, pending, results, log, metrics } = args;
    const db = afterPending(args.db, pending);
    this.#reads = new SharedReads({ db, database, metrics });
    const { table } = this.#reads;
    this.db = db;
    this.table = table;
    this.results = results;
    this.keys = new KeyFilter({ db, table, log });
    this.#known = known;
    this.#pending = pending;
    this.#preloads = args.preloads;
    const { tables } = known;
    this.#tables = tables;
    const lock = this.#lock;
    const writes = new LoggedWrites({
      pending,
      tables,
      results,
      lock,
      listeners: this.#listeners,
      lookUp: (space, wanted, signal) => this.lookUp(space, wanted, signal),
    });
    this.insert = (records) => writes.insert(records);
    this.change = (change) => writes.change(change);
  }

  async lookUp(space: RecordSpace, wanted: LookupKey, signal: AbortSignal): Promise<readonly StoredRow[]> {
    const known = this.#known.find(space.id, wanted);
    if (known?.complete) return known.rows;
    // no write of the value has ever begun
    if ('slot' in wanted && !this.keys.mayHave(space.id, hashOf(wanted.slot, wanted.value))) return [];
    this.#preloads.missed(space, 'look-up');
    if ('slot' in wanted) this.#tables.missed(space.id, [lookupShape(wanted.slot)]);
    await this.#pending.settledBlocks(space.id, signal);
    const outdated = this.#known.find(space.id, wanted)?.outdated;
    const stored = await this.#reads.lookUp(space, wanted, signal);
    return outdated === undefined ? stored : stored.filter(({ _id }) => !outdated.has(_id));
  }

  selectivity(space: RecordSpace): ReturnType<RecordStore['selectivity']> {
    // a count of what the table has by now would say that the space is small
    const waiting = this.#pending.settledBlocks(space.id);
    return waiting === null
      ? this.#reads.selectivity(space)
      : waiting.then(() => this.#reads.selectivity(space));
  }

  findNow({ id }: RecordSpace, plan: ReadPlan): FoundNow | null {
    const table = this.#tables.find(id);
    const numbers = table?.find(plan);
    return table && numbers ? { table, numbers } : null;
  }

  find(find: StoreFind): Promise<readonly StoredRow[] | null> {
    const { space, plan, signal } = find;
    const { plain, others, hashed } = plan.conditions;
    const shapes = hashed.length === 0 ? shapesOf(plan) : [];
    // without an index, only a small space is searched in memory
    const isScan = others.length > 0 && plain.length === 0 && shapes.length === 0;
    this.#preloads.missed(space, isScan ? 'look-up' : 'search');
    this.#tables.missed(space.id, shapes);
    const waiting = this.#pending.settledBlocks(space.id, signal);
    return waiting === null ? this.#reads.find(find) : waiting.then(() => this.#reads.find(find));
  }

  rewrite<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    const rewrite = () => this.#tables.rewrite(spaceId, work);
    const written = () => whileWriting(this.results.beginWrite, spaceId, rewrite);
    return this.tidy(spaceId, () => written().finally(() => this.#listeners.get(spaceId)?.reset()));
  }

  tidy<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#lock.exclusive(spaceId, work);
  }

  async invalidate(spaceId: string): Promise<void> {
    this.results.begin(spaceId, null)();
    this.#listeners.get(spaceId)?.reset();
  }

  async listen(spaceId: string, listener: ChangeListener): Promise<StopListening> {
    this.#listeners.set(spaceId, listener);
    // another listener may have subscribed since
    return () => void (this.#listeners.get(spaceId) === listener && this.#listeners.delete(spaceId));
  }

  started(): void {
    this.keys.fillLater();
  }

  async close(): Promise<void> {
    await this.#preloads.close();
    await this.#pending.close();
  }
}
