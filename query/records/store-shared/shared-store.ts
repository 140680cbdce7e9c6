import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { Database } from '#engine/database.ts';
import { sharedPace } from '#engine/shared-pace.ts';
import type { Pace } from '#engine/statement-queues.ts';
import { notImplemented } from '#kernel/errors/catalogue.ts';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { cacheShares } from '../store/cache-shares.ts';
import type { ReadCache } from '../store/kept-results.ts';
import type {
  Engine,
  LookupKey,
  RecordStore,
  RecordWrites,
  StopListening,
  StoredKeys,
  WritableStore,
} from '../store/record-store.ts';
import type { ChangeListener } from '../store/row-change.ts';
import { SharedReads } from '../store/shared-reads.ts';
import { type BeginWrite, createStatementWrites, whileWriting } from '../store/statement-writes.ts';
import type { StoreFind } from '../store/store-find.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { CacheOutages } from './cache-outages.ts';
import { RedisChanges } from './redis-changes.ts';
import { RedisVersions } from './redis-versions.ts';
import { noVersions, type SpaceVersions } from './space-versions.ts';
import { VersionedCache } from './versioned-cache.ts';

/** No filter: other processes may have written any key. */
const anyKeys: StoredKeys = { mayHave: () => true, add() {}, async addRows() {} };

/**
 * The store of processes that share a ClickHouse server: every read and write is a statement there, which requests of a
 * process share. Versions of spaces invalidate the cached results of a process when others write.
 */
export class SharedStore implements WritableStore {
  readonly singleWriter: boolean = false;
  readonly db: Database;
  readonly table: RecordStore['table'];
  readonly results: ReadCache;
  readonly keys = anyKeys;
  readonly insert: RecordWrites['insert'];
  readonly change: RecordWrites['change'];
  readonly #lock = new ReadWriteLock();
  readonly #reads: SharedReads;
  readonly #beginWrite: BeginWrite;
  readonly #changes: RedisChanges | undefined;

  /** Results are cached only where Redis can confirm that they are current. */
  static open(services: {
    readonly db: Database;
    readonly database: string;
    readonly redis: RedisConnection | undefined;
    readonly config: { readonly recordCacheBytes: number };
    readonly log: Log;
    readonly metrics: Pick<Metrics, 'batch' | 'cache'>;
  }): SharedStore {
    const { redis, config, db } = services;
    const pace = sharedPace(services, 'records');
    // a server of several may answer with data older than a write that another one acknowledged
    if (redis === undefined || db.servers > 1)
      return new SharedStore({ ...services, pace, versions: noVersions, cacheBytes: 0 });
    const shared = { ...services, redis, outages: new CacheOutages(services) };
    const versions = new RedisVersions(shared);
    const changes = (table: Engine['table']) => new RedisChanges({ ...shared, table });
    const { rows, results } = cacheShares(config.recordCacheBytes);
    return new SharedStore({ ...services, pace, versions, changes, cacheBytes: rows + results });
  }

  /** @param args.cacheBytes of results; they are kept only where `versions` has any */
  constructor(args: {
    readonly db: Database;
    readonly database: string;
    readonly versions: SpaceVersions;
    /** Absent: processes do not learn of each other's writes. */
    readonly changes?: (table: Engine['table']) => RedisChanges;
    readonly cacheBytes: number;
    readonly metrics: Pick<Metrics, 'batch' | 'cache'>;
    readonly log: Pick<Log, 'warn'>;
    readonly pace?: Pace | undefined;
  }) {
    const { db, versions, cacheBytes: bytes, metrics } = args;
    this.#reads = new SharedReads(args);
    const { table } = this.#reads;
    this.db = db;
    this.table = table;
    this.#changes = args.changes?.(table);
    this.#beginWrite = (spaceId) => versions.begin(spaceId);
    this.results = new VersionedCache({ versions, bytes, counts: metrics.cache('records') });
    const writes = createStatementWrites({
      db,
      table,
      metrics,
      log: args.log,
      lock: this.#lock,
      beginWrite: this.#beginWrite,
      pace: args.pace,
    });
    this.insert = writes.insert;
    this.change = writes.change;
  }

  findNow(): null {
    return null;
  }

  find(find: StoreFind): Promise<readonly StoredRow[] | null> {
    return this.#reads.find(find);
  }

  lookUp(space: RecordSpace, wanted: LookupKey, signal: AbortSignal): Promise<readonly StoredRow[]> {
    return this.#reads.lookUp(space, wanted, signal);
  }

  selectivity(space: RecordSpace): ReturnType<RecordStore['selectivity']> {
    return this.#reads.selectivity(space);
  }

  rewrite<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    return this.tidy(spaceId, () => whileWriting(this.#beginWrite, spaceId, work));
  }

  tidy<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#lock.exclusive(spaceId, work);
  }

  async invalidate(spaceId: string): Promise<void> {
    const end = await this.#beginWrite(spaceId);
    await end();
  }

  async listen(spaceId: string, listener: ChangeListener, signal: AbortSignal): Promise<StopListening> {
    if (this.#changes === undefined)
      throw notImplemented(
        'A live query without REDIS_URL, or with several addresses of one ClickHouse store,',
      );
    return this.#changes.listen(spaceId, listener, signal);
  }

  started(): void {}

  async close(): Promise<void> {
    this.#changes?.close();
  }
}
