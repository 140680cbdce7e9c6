import type { Database } from '../../common/clickhouse/database.ts';
import { ReadWriteLock } from '../../common/limits/read-write-lock.ts';
import type { Metrics } from '../../common/metrics/create-metrics.ts';
import type { FindBatches } from '../store/find-batches.ts';
import type { RecordLookups } from '../store/record-lookups.ts';
import type { LookupKey, RecordStore, RecordWrites, StoredKeys } from '../store/record-store.ts';
import { sharedStatements } from '../store/shared-statements.ts';
import { createStatementWrites, whileWriting } from '../store/statement-writes.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { SpaceVersions } from './space-versions.ts';
import { VersionedCache } from './versioned-cache.ts';

/** Others may have written any. */
const anyKeys: StoredKeys = { mayHave: () => true, add() {}, async addSpace() {} };

/**
 * The store of processes that share a ClickHouse server: every read and write is a statement there, which requests of a
 * process share. Versions of spaces keep the results of one process right when others write.
 */
export class SharedStore implements RecordStore {
  readonly alone = false;
  readonly db: Database;
  readonly table: RecordStore['table'];
  readonly results: VersionedCache;
  readonly keys = anyKeys;
  readonly insert: RecordWrites['insert'];
  readonly change: RecordWrites['change'];
  readonly find: FindBatches['find'];
  readonly #lock = new ReadWriteLock();
  readonly #lookups: RecordLookups;
  readonly #versions: SpaceVersions;

  /** @param args.cacheBytes of results; they are kept only where `versions` has any */
  constructor(args: {
    readonly db: Database;
    readonly database: string;
    readonly versions: SpaceVersions;
    readonly cacheBytes: number;
    readonly metrics?: Pick<Metrics, 'batch' | 'cache'> | undefined;
  }) {
    const { db, versions, cacheBytes: bytes, metrics } = args;
    const statements = sharedStatements({ ...args, db });
    this.db = db;
    this.table = statements.table;
    this.#versions = versions;
    this.results = new VersionedCache({ versions, bytes, counts: metrics?.cache('records') });
    this.#lookups = statements.lookups;
    this.find = (...asked) => statements.batches.find(...asked);
    const beginWrite = (spaceId: string) => versions.begin(spaceId);
    const writes = createStatementWrites({ ...statements, lock: this.#lock, beginWrite });
    this.insert = writes.insert;
    this.change = writes.change;
  }

  lookUp(space: RecordSpace, wanted: LookupKey, signal: AbortSignal) {
    return this.#lookups.find(space, wanted, signal);
  }

  findNow(): null {
    return null;
  }

  rewrite<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    const begin = (id: string) => this.#versions.begin(id);
    return this.tidy(spaceId, () => whileWriting(begin, spaceId, work));
  }

  tidy<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#lock.alone(spaceId, work);
  }

  async invalidate(spaceId: string): Promise<void> {
    const end = await this.#versions.begin(spaceId);
    await end();
  }

  async close(): Promise<void> {}
}
