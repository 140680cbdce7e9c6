/**
 * Histories as in `histories.full.ts`, where spaces are preloaded all the time: what a preload reads from the table meets
 * writes of the same records. Then preloads are broken on purpose, and the check has to find it.
 *
 *   HISTORIES=full TEST_SEED=7 node --import tsx test/integration/histories-preloads.full.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import type { BuiltIndex } from '#records/memory/index-shape.ts';
import { MemoryTable } from '#records/memory/memory-table.ts';
import { MemoryTables, type TableLoad } from '#records/memory/memory-tables.ts';
import { OrderedIndex } from '#records/memory/ordered-index.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import { type QueryHarness, queryHarnessFor } from '../services/query-harness.ts';
import {
  type RecordedHistory,
  recordHistory,
  requestedHistory,
  type Send,
} from '../services/record-history.ts';

const { operations, seed } = requestedHistory({ usual: 1500, full: 20_000 });
// a hang is found by it; what a run may take grows with what was asked for
t.setTimeout(300_000 + operations * 60);

/** Gives a space up as soon as the table has a write: it is held again only when it is preloaded, which each look-up asks for. */
class Forgetful extends KnownRecords {
  loads = 0;

  constructor() {
    super(new MemoryTables(1e6));
  }

  override settle(spaceId: string, id: string, number: number): void {
    super.settle(spaceId, id, number);
    this.tables.drop(spaceId);
  }

  override load(spaceId: string, account: string, unique: readonly string[]): TableLoad | null {
    this.loads++;
    return super.load(spaceId, account, unique);
  }
}

/** What is written while a preload reads is taken for unwritten. */
class WritesMissed extends Forgetful {
  override load(spaceId: string, account: string, unique: readonly string[]): TableLoad | null {
    const load = super.load(spaceId, account, unique);
    if (load === null) return null;
    this.tables.written = () => {};
    const end = (): boolean => {
      // that of the class again
      Reflect.deleteProperty(this.tables, 'written');
      return load.end();
    };
    const giveUp = (): void => {
      Reflect.deleteProperty(this.tables, 'written');
      load.giveUp();
    };
    return { ...load, end, giveUp };
  }
}

/** Rows of a preload come a little later than they are read. */
function slowPreloads(db: Database): Database {
  return {
    ...db,
    async stream(statement) {
      const pieces = await db.stream(statement);
      if (statement.format === 'RowBinary') await sleep(10);
      return pieces;
    },
  };
}

/** Of two answers of which one is wrong, an update may look for a third one until its deadline. */
function untilDeadline({ call }: QueryHarness): Send {
  return async (request) => {
    const signal = AbortSignal.timeout(10_000);
    try {
      return await call({ ...request, signal });
    } catch (error) {
      if (error !== signal.reason) throw error;
      return null;
    }
  };
}

/** @returns histories of one process, in spaces of their own */
async function open(
  t: Test,
  known: KnownRecords,
  send: (harness: QueryHarness) => Send = ({ call }) => call,
  updateShare = 0.8,
): Promise<(count: number, round?: number) => Promise<RecordedHistory>> {
  const harness = await queryHarnessFor(t, {
    singleWriter: true,
    wrap: slowPreloads,
    // kept results would be answered before anything is looked up
    cache: () => new ResultCache(0),
    // writes come into the table at once, so that preloads meet them
    pending: { known, fewestMisses: 1, times: { flushAfter: 3 } },
  });
  return (count, round = 0) =>
    recordHistory({
      processes: [send(harness)],
      operations: count,
      seed: seed + round,
      slug: `preloads-${round}`,
      writeShare: 0.1,
      updateShare,
    });
}

t.test('histories with spaces that are preloaded all the time are linearizable', async (t) => {
  const known = new Forgetful();
  const { problems, reads, writes } = await (await open(t, known))(operations);
  t.strictSame(problems, []);
  t.ok(known.loads > 4, `${known.loads} preloads`);
  t.comment(`seed ${seed}: ${writes} writes, ${reads} reads, ${known.loads} preloads`);
});

t.test('it is found when a preload does not mind what is written meanwhile', async (t) => {
  await expectProblem(t, new WritesMissed());
});

/** Holds its spaces, and compares no rows: what is not looked up by an id or a unique value needs an index. */
const indexed = (): KnownRecords => new KnownRecords(new MemoryTables(1e6, { mostCompared: 0 }));

t.test('histories with indexes that build themselves are linearizable', async (t) => {
  const known = indexed();
  const { problems, reads, writes } = await (await open(t, known))(operations);
  t.strictSame(problems, []);
  t.ok(known.tables.indexes > 3, `${known.tables.indexes} indexes`);
  t.comment(`seed ${seed}: ${writes} writes, ${reads} reads`);
});

/**
 * Records histories until one of them has a problem. Nothing is deleted in them: an entry that is not where it should be
 * is noticed then, and is an error.
 */
async function expectProblem(t: Test, known: KnownRecords): Promise<void> {
  const record = await open(t, known, untilDeadline, 1);
  for (let round = 0; round < 12; round++) {
    const { problems } = await record(600, round);
    if (problems.length === 0) continue;
    t.comment(`history ${round + 1}: ${problems[0]}`);
    t.pass();
    return;
  }
  t.fail('nothing was found');
}

t.test('it is found when an index misses an update', async (t) => {
  const { isSame } = OrderedIndex.prototype;
  t.teardown(() => {
    OrderedIndex.prototype.isSame = isSame;
  });
  OrderedIndex.prototype.isSame = () => true;
  await expectProblem(t, indexed());
});

t.test('it is found when an index of ranges misses an update', async (t) => {
  const { isSame } = OrderedIndex.prototype;
  t.teardown(() => {
    OrderedIndex.prototype.isSame = isSame;
  });
  let missed = 0;
  OrderedIndex.prototype.isSame = function (...args) {
    const isRange = this.slots.length === 0 && this.order.by !== 'id';
    if (isRange) missed++;
    return isRange || isSame.apply(this, args);
  };
  await expectProblem(t, indexed());
  t.ok(missed > 0);
});

t.test('it is found when an index that gets no more writes is dropped too late', async (t) => {
  const { add, remove } = OrderedIndex.prototype;
  t.teardown(() => Object.assign(OrderedIndex.prototype, { add, remove }));
  const writes = new WeakMap<OrderedIndex, number>();
  const isStale = (index: OrderedIndex): boolean => {
    const count = (writes.get(index) ?? 0) + 1;
    writes.set(index, count);
    // that of the ids has no slots
    return index.slots.length > 0 && count > 40;
  };
  OrderedIndex.prototype.add = function (...args) {
    if (!isStale(this)) add.apply(this, args);
  };
  OrderedIndex.prototype.remove = function (...args) {
    if (!isStale(this)) remove.apply(this, args);
  };
  await expectProblem(t, indexed());
});

t.test('it is found when an index that is built misses what is written meanwhile', async (t) => {
  const { continueIndex } = MemoryTable.prototype;
  t.teardown(() => {
    MemoryTable.prototype.continueIndex = continueIndex;
  });
  const hidden = new WeakMap<MemoryTable, { readonly index: BuiltIndex; readonly since: number }>();
  MemoryTable.prototype.continueIndex = function (rows) {
    const indexes = this.indexes as BuiltIndex[];
    const known = hidden.get(this);
    if (known === undefined) {
      // it has all rows of now, and is used a little later
      if (rows === 0 || !continueIndex.call(this, 1e9)) return continueIndex.call(this, rows);
      hidden.set(this, { index: indexes.pop() as BuiltIndex, since: performance.now() });
      return false;
    }
    if (performance.now() - known.since < 400) return false;
    indexes.push(known.index);
    hidden.delete(this);
    return true;
  };
  await expectProblem(t, indexed());
});
