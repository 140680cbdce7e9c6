import { randomUUID } from 'node:crypto';
import { recordsTable } from '#catalogue/migrations/record-tables.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { RedisConfig } from '#kernel/config/read-redis.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import type { NewRecord } from '#records/sql/new-record.ts';
import type { RecordStore } from '#records/store/record-store.ts';
import type { ChangeListener, RowChange } from '#records/store/row-change.ts';
import { CacheOutages } from '#records/store-shared/cache-outages.ts';
import { RedisChanges } from '#records/store-shared/redis-changes.ts';
import { RedisVersions } from '#records/store-shared/redis-versions.ts';
import { SharedStore } from '#records/store-shared/shared-store.ts';
import type { SpaceVersions } from '#records/store-shared/space-versions.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { fieldsOf } from './record-client.ts';
import { silentLog } from './silent-log.ts';
import { spaceWith, storedStructure } from './stored-structure.ts';

const database = 'sluice';
const structure = storedStructure(fieldsOf('name TEXT, age NUMBER'));
const newId = createUuidV7();
const { signal } = new AbortController();

export const newSpace = (): RecordSpace => spaceWith(structure, { id: randomUUID() });
export const newRecord = (age: number): NewRecord => ({
  id: newId(),
  createdAt: new Date().toISOString(),
  values: ['somebody', age],
});

/** One process that shares a store: outages and dead writers are over soon. */
export class LiveStore {
  readonly store: SharedStore;
  readonly versions: SpaceVersions;
  readonly close: () => Promise<void>;

  constructor(store: SharedStore, versions: SpaceVersions, close: () => Promise<void>) {
    this.store = store;
    this.versions = versions;
    this.close = close;
  }

  /** @param wrap may change when writes begin and end */
  static async open(
    db: Database,
    config: RedisConfig,
    options: {
      readonly times?: ConstructorParameters<typeof RedisVersions>[0]['times'];
      /** Milliseconds. */
      readonly poll?: number;
      readonly wrap?: (versions: SpaceVersions) => SpaceVersions;
    } = {},
  ): Promise<LiveStore> {
    const { wrap, poll = 100 } = options;
    const log = silentLog();
    const redis = await openRedis(config, log, { connect: 1000, command: 300, backoff: 50 });
    const lifetime = 400;
    const outages = new CacheOutages({ db, database, times: { lifetime, refresh: 100, length: 3000 } });
    const times = { settledAfter: 0, lifetime, writePatience: 200, renewEvery: 100, ...options.times };
    const versions = new RedisVersions({ redis, outages, log, times });
    const store = new SharedStore({
      db,
      database,
      log,
      cacheBytes: 1e6,
      metrics: unmeasured,
      versions: wrap?.(versions) ?? versions,
      changes: (table) => new RedisChanges({ db, table, redis, outages, log, times: { poll, pause: 10 } }),
    });
    return new LiveStore(store, versions, async () => {
      await store.close();
      await redis.close();
    });
  }

  async insert(space: RecordSpace, ...records: readonly NewRecord[]): Promise<void> {
    const { invalidated } = await this.store.insert({ space, records, unique: [], signal, permit: null });
    await invalidated;
  }

  /** @param age null: the record is removed */
  async change(space: RecordSpace, id: string, age: number | null): Promise<void> {
    const assignments = age === null ? null : [{ slot: 'n0', value: age }];
    const { invalidated } = await this.store.change({ space, steps: [{ id, assignments }], signal });
    await invalidated;
  }

  /** Gives all records an age, by one statement. */
  rewrite(space: RecordSpace, age: number): Promise<void> {
    const sql = `UPDATE ${database}.${recordsTable} SET n0 = ${age}, _doc = mapUpdate(_doc, map('n0', '${age}'))
      WHERE space = ${textLiteral(space.id)}`;
    return this.store.rewrite(space.id, () => this.store.db.command({ sql }));
  }

  /** What the table has: ages by id. */
  async ages(space: RecordSpace): Promise<ReadonlyMap<string, string>> {
    const rows = await this.store.db.rows<{ id: string; age: string }>({
      sql: `SELECT _id AS id, _doc['n0'] AS age FROM ${database}.${recordsTable} WHERE space = ${textLiteral(space.id)}`,
    });
    return new Map(rows.map(({ id, age }) => [id, age]));
  }

  async mirror(space: RecordSpace): Promise<Mirror> {
    const mirror = new Mirror(() => this.ages(space));
    mirror.stop = await this.store.listen(space.id, mirror, signal);
    await mirror.load();
    return mirror;
  }
}

/** `ChangeListener.exclusive` of one that reads nothing by itself. */
export async function readAtOnce<Result>(read: () => Promise<Result>): Promise<Result> {
  return await read();
}

/** The ages of a space by what a listener is told. */
export class Mirror implements ChangeListener {
  stop: Awaited<ReturnType<RecordStore['listen']>> = () => {};
  resets = 0;
  readonly told: RowChange[] = [];
  readonly #read: () => Promise<ReadonlyMap<string, string>>;
  #ages = new Map<string, string>();
  #loading: Promise<void> | null = null;
  #isOld = false;

  constructor(read: () => Promise<ReadonlyMap<string, string>>) {
    this.#read = read;
  }

  get content(): readonly (readonly [string, string])[] {
    return sorted(this.#ages);
  }

  changed(changes: Iterable<RowChange>): void {
    for (const change of changes) {
      this.told.push(change);
      this.#apply(change);
    }
  }

  readonly exclusive = readAtOnce;

  reset(): void {
    this.resets++;
    void this.load();
  }

  load(): Promise<void> {
    this.#isOld = true;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    while (this.#isOld) {
      this.#isOld = false;
      const from = this.told.length;
      this.#ages = new Map(await this.#read());
      for (const change of this.told.slice(from)) this.#apply(change);
    }
  }

  #apply({ id, after }: RowChange): void {
    if (after === null) this.#ages.delete(id);
    else this.#ages.set(id, String(after._doc.n0));
  }
}

export function sorted(ages: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...ages].sort(([a], [b]) => (a < b ? -1 : 1));
}
