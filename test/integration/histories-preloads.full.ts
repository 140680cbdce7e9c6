/**
 * Histories as in `histories.full.ts`, where spaces are preloaded all the time: what a preload reads from the table meets
 * writes of the same records. Then preloads are broken on purpose, and the check has to find it.
 *
 *   HISTORIES=full TEST_SEED=7 node --import tsx test/integration/histories-preloads.full.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Database } from '../../common/clickhouse/database.ts';
import { KnownRecords } from '../../query/records/known-records.ts';
import type { RecordLoad } from '../../query/records/record-load.ts';
import { ResultCache } from '../../query/records/result-cache.ts';
import { openQueryHarness, type QueryHarness } from '../services/query-harness.ts';
import {
  type RecordedHistory,
  recordHistory,
  requestedHistory,
  type Send,
} from '../services/record-history.ts';

const { operations, seed } = requestedHistory({ usual: 1000, full: 20_000 });
// a hang is found by it; what a run may take grows with what was asked for
t.setTimeout(300_000 + operations * 60);

/** Forgets what the table has: it is known again only when its space is preloaded, which each look-up asks for. */
class Forgetful extends KnownRecords {
  loads = 0;

  constructor() {
    super(1e6);
  }

  override settle(spaceId: string, id: string, number: number): void {
    super.settle(spaceId, id, number);
    this.packed?.removeSpace(spaceId);
  }

  override remember(): void {}

  override load(spaceId: string, unique: readonly string[]): RecordLoad | null {
    this.packed?.removeSpace(spaceId);
    this.loads++;
    return super.load(spaceId, unique);
  }
}

/** What is written while a preload reads is taken for unwritten. */
class WritesMissed extends Forgetful {
  override load(spaceId: string, unique: readonly string[]): RecordLoad | null {
    const load = super.load(spaceId, unique);
    if (load !== null) load.written = () => {};
    return load;
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
): Promise<(count: number, round?: number) => Promise<RecordedHistory>> {
  const harness = await openQueryHarness({
    ...{ alone: true, logged: true, wrap: slowPreloads },
    // kept results would be answered before anything is looked up
    cache: () => new ResultCache(0),
    // writes come into the table at once, so that preloads meet them
    pending: { known, fewestMisses: 1, times: { flushAfter: 3 } },
  });
  t.teardown(() => harness.close());
  return (count, round = 0) =>
    recordHistory({
      ...{ processes: [send(harness)], operations: count, seed: seed + round },
      ...{ slug: `preloads-${round}`, writeShare: 0.1 },
    });
}

t.test('histories with spaces that are preloaded all the time are linearizable', async (t) => {
  const known = new Forgetful();
  const { problems, reads, writes } = await (await open(t, known))(operations);
  t.strictSame(problems, []);
  t.ok(known.loads > 10, `${known.loads} preloads`);
  t.comment(`seed ${seed}: ${writes} writes, ${reads} reads, ${known.loads} preloads`);
});

t.test('it is found when a preload does not mind what is written meanwhile', async (t) => {
  const record = await open(t, new WritesMissed(), untilDeadline);
  for (let round = 0; round < 12; round++) {
    const { problems } = await record(600, round);
    if (problems.length === 0) continue;
    t.comment(`history ${round + 1}: ${problems[0]}`);
    t.pass();
    return;
  }
  t.fail('nothing was found');
});
