/** What every store of records promises (query/records/store/record-store.ts), of each that there is, with rows in memory and without. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { openChdb } from '#engine/open-chdb.ts';
import type { WritePermit } from '#engine/write-permit.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { Candidates } from '#records/candidates.ts';
import type { HashChecks } from '#records/hash-checks.ts';
import { equals } from '#records/input/parse-conditions.ts';
import type { ReadPlan } from '#records/input/read-plan.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { RecordReader } from '#records/record-reader.ts';
import type { NewRecord } from '#records/sql/new-record.ts';
import { hashOf, keyOf } from '#records/sql/record-keys.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import { EmbeddedStore } from '#records/store-embedded/embedded-store.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { PendingRecords } from '#records/store-embedded/pending-records.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import { SpacePreloads } from '#records/store-embedded/space-preloads.ts';
import { SharedStore } from '#records/store-shared/shared-store.ts';
import type { Field } from '#records/structure/field.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { loadResult } from '../services/load-result.ts';
import { createLocalVersions } from '../services/local-versions.ts';
import { fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';
import { sized } from '../services/test-size.ts';

const database = 'sluice';
const root = await mkdtemp(join(tmpdir(), 'sluice-stores-'));
const db = openChdb({ path: join(root, 'chdb') });
await migrate(db, database, migrations);
t.teardown(async () => {
  await db.close();
  await rm(root, { recursive: true, force: true });
});

const structure = storedStructure(fieldsOf('email TEXT unique, age NUMBER'));
const keyed = { ...structure, fields: structure.fields.map((field) => ({ ...field, keyed: field.unique })) };
const age = keyed.fields[1] as Field;
const newId = createUuidV7();
const { signal } = new AbortController();
setMaxListeners(0, signal);
const everything: ReadPlan = {
  conditions: { relationship: 'And', plain: [], others: [], hashed: [] },
  sort: null,
  page: null,
};
const ofAge = (value: number): ReadPlan => ({
  ...everything,
  conditions: { ...everything.conditions, plain: [equals(age, value)] },
});
const newSpace = (): RecordSpace => spaceWith(keyed, { id: randomUUID() });

const recordOf = (name: string, value: number): NewRecord => {
  const createdAt = new Date().toISOString();
  return { id: newId(), createdAt, values: [name, value] };
};

/** One store, as requests use it. */
class Client {
  readonly store: WritableStore;
  readonly reader: RecordReader;

  constructor(store: WritableStore) {
    this.store = store;
    const cost = { maxRows: 0, timeout: 30_000 };
    const candidates = new Candidates({ store, checks: {} as HashChecks, cost });
    this.reader = new RecordReader({ store, candidates, cost, count: unmeasured.reads() });
  }

  async insert(
    space: RecordSpace,
    records: readonly NewRecord[],
    permit: WritePermit | null = null,
  ): Promise<void> {
    const unique = records.map(({ values }, index) => ({ index, hash: hashOf('t0', values[0] as string) }));
    for (const { hash } of unique) this.store.keys.add(space.id, hash);
    const { invalidated } = await this.store.insert({ space, records, unique, signal, permit });
    await invalidated;
  }

  async change(space: RecordSpace, id: string, value: number | null, isRemoval = false) {
    const assignments = isRemoval ? null : [{ slot: 'n0', value }];
    const { rows, invalidated } = await this.store.change({ space, steps: [{ id, assignments }], signal });
    await invalidated;
    return rows[0] ?? null;
  }

  /** The ages of what a plan finds. */
  async ages(space: RecordSpace, plan: ReadPlan): Promise<readonly number[]> {
    const list = await this.reader.list(space, plan, signal);
    const found = JSON.parse(list instanceof Uint8Array ? Buffer.from(list).toString() : await text(list));
    return found.map(({ age }: { age: number }) => age);
  }

  async lookUp(space: RecordSpace, name: string): Promise<readonly string[]> {
    const rows = await this.store.lookUp(space, { slot: 't0', value: name }, signal);
    return rows.map(({ _id }) => _id);
  }

  /** Asks until it is answered from memory, if it ever is. */
  async warm(space: RecordSpace): Promise<boolean> {
    for (let asked = 0; asked < sized(100, 20); asked++) {
      if (this.store.findNow(space, everything) !== null) return true;
      await this.ages(space, ofAge(-asked));
      await this.lookUp(space, 'nobody');
    }
    return false;
  }

  /** What is kept of a read that answers this, if it may be kept. */
  async keeps(space: RecordSpace, answer: string): Promise<string> {
    // a question that was asked before
    await this.store.results.at(space, 'read');
    const kept = await this.store.results.at(space, 'read');
    const known = kept.get(space, 'read');
    if (known !== undefined) return Buffer.from(known).toString();
    const result = await loadResult(kept, space, 'read', null, async () => Buffer.from(answer));
    return Buffer.from(result ?? '').toString();
  }
}

async function embedded(t: Test, cacheBytes: number): Promise<Client> {
  const known = new KnownRecords(new MemoryTables(cacheBytes));
  const log = silentLog();
  const records = { db, known, log, table: new RecordsTable(db, database) };
  const directory = await mkdtemp(join(root, 'log-'));
  const pending = await PendingRecords.open({ ...records, directory });
  const preloads = new SpacePreloads({ ...records, fewestMisses: 1 });
  const results = new ResultCache(1e6);
  const store = new EmbeddedStore({
    db,
    database,
    known,
    pending,
    preloads,
    results,
    log,
    metrics: unmeasured,
  });
  t.teardown(() => store.close());
  return new Client(store);
}

const stores: Readonly<Record<string, (t: Test) => Promise<Client>>> = {
  'embedded, rows in memory': (t) => embedded(t, 8e6),
  'embedded, no rows in memory': (t) => embedded(t, 0),
  shared: async () => {
    const versions = createLocalVersions();
    return new Client(
      new SharedStore({ db, database, versions, cacheBytes: 1e6, metrics: unmeasured, log: silentLog() }),
    );
  },
};

for (const [name, open] of Object.entries(stores)) {
  t.test(name, async (t) => {
    const client = await open(t);
    const { store } = client;

    t.test('what was written is found in every way, and what was not is not', async (t) => {
      for (const isWarm of [false, true]) {
        const space = newSpace();
        if (isWarm)
          t.equal(await client.warm(space), name.endsWith('rows in memory') && !name.includes('no'));
        const [one, two] = [recordOf('one', 1), recordOf('two', 2)];
        await client.insert(space, [one, two]);
        t.strictSame(await client.lookUp(space, 'one'), [one.id]);
        t.strictSame(await client.lookUp(space, 'three'), []);
        t.strictSame(await client.ages(space, everything), [1, 2]);
        t.strictSame(await client.ages(space, ofAge(2)), [2]);
        t.strictSame(await Promise.all([1, 2, 3].map((of) => client.ages(space, ofAge(of)))), [[1], [2], []]);
        t.equal(await client.reader.count(space, signal), 2);
        t.match(await client.change(space, two.id, 3), { _id: two.id, _doc: { t0: 'two', n0: '3' } });
        t.strictSame(await client.ages(space, everything), [1, 3]);
        t.match(await client.change(space, one.id, null, true), { _id: one.id, _doc: { n0: '1' } });
        t.equal(await client.change(space, one.id, 4), null);
        t.strictSame(await client.lookUp(space, 'one'), []);
        t.strictSame(await client.ages(space, everything), [3]);
        t.strictSame(await client.ages(newSpace(), everything), [], 'nothing of another space');
      }
    });

    t.test('many records of one insert are found in their order', async (t) => {
      const space = newSpace();
      const records = Array.from({ length: 300 }, (_, i) => recordOf(`many ${i}`, i));
      await client.insert(space, records);
      t.strictSame(
        await client.ages(space, everything),
        records.map(({ values }) => values[1]),
      );
      t.strictSame(await client.lookUp(space, 'many 299'), [records[299]?.id]);
    });

    t.test('what may not be written any more is not', async (t) => {
      const space = newSpace();
      const check = (): never => {
        throw new Error('too late');
      };
      await t.rejects(client.insert(space, [recordOf('late', 1)], { check, timeLimit: 1000 }), /too late/);
      t.strictSame(await client.ages(space, everything), []);
    });

    t.test('an answer is kept until a write, a rewrite, or another structure', async (t) => {
      const space = newSpace();
      const record = recordOf('kept', 1);
      const writes: Readonly<Record<string, () => Promise<unknown>>> = {
        insert: () => client.insert(space, [record]),
        update: () => client.change(space, record.id, 5),
        rewrite: () => store.rewrite(space.id, async () => {}),
        'a rewrite that fails': () =>
          store.rewrite(space.id, () => Promise.reject(new Error('no'))).catch(() => {}),
        'another structure': () => store.invalidate(space.id),
      };
      for (const [what, write] of Object.entries(writes)) {
        t.equal(await client.keeps(space, `before ${what}`), `before ${what}`);
        t.equal(await client.keeps(space, 'another one'), `before ${what}`, 'it is kept');
        await write();
        t.equal(await client.keeps(space, `after ${what}`), `after ${what}`);
        await store.invalidate(space.id);
      }
      await client.keeps(space, 'before');
      await store.tidy(space.id, async () => {});
      t.equal(await client.keeps(space, 'after'), 'before', 'what nobody sees drops nothing');
    });

    t.test('while a space is rewritten nothing kept is answered, and nobody writes', async (t) => {
      const space = newSpace();
      await client.insert(space, [recordOf('a', 1), recordOf('b', 2)]);
      await client.warm(space);
      await client.keeps(space, 'before');
      let late: Promise<void> = Promise.resolve();
      await store.rewrite(space.id, async () => {
        late = client.insert(space, [recordOf('c', 3)]);
        t.equal(store.findNow(space, everything), null);
        t.equal(await client.keeps(space, 'meanwhile'), 'meanwhile');
        t.equal(await client.keeps(space, 'still'), 'still', 'and it is not kept');
        await store.db.command({ ...store.table.clear(space.id), signal });
        t.strictSame(await client.ages(space, everything), []);
      });
      await late;
      t.strictSame(await client.ages(space, everything), [3]);
      t.strictSame(await client.lookUp(space, 'a'), []);
      t.strictSame(await client.lookUp(space, 'c').then(({ length }) => length), 1);
    });

    t.test('work that nobody sees has the space to itself too', async (t) => {
      const space = newSpace();
      let late: Promise<void> = Promise.resolve();
      const order: string[] = [];
      await store.tidy(space.id, async () => {
        late = client.insert(space, [recordOf('late', 1)]).then(() => void order.push('written'));
        await store.db.rows({ sql: 'SELECT sleep(0.05)' });
        order.push('done');
      });
      await late;
      t.strictSame(order, ['done', 'written']);
    });

    t.test('a unique value that may be stored is never taken for a new one', async (t) => {
      const space = newSpace();
      const hash = hashOf('t0', 'known');
      await client.insert(space, [recordOf('known', 1)]);
      t.ok(store.keys.mayHave(space.id, hash));
      const other = newSpace();
      await store.rewrite(other.id, async () => {
        const row = { space: other.id, _id: newId(), _keys: [keyOf('t0', 'copied')] };
        await store.db.insert({ ...store.table.recordRows, lines: Buffer.from(`${JSON.stringify(row)}\n`) });
        await store.keys.addRows(store.table.allKeys(other.id));
      });
      t.ok(store.keys.mayHave(other.id, hashOf('t0', 'copied')));
    });
  });
}
