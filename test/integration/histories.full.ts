/**
 * Concurrent writers and readers on few records: every request's start, end and answer is recorded, and each record's
 * history is checked for linearizability. Then the cache, and what stands before the service, are broken on purpose, and
 * the check has to find it.
 *
 *   HISTORIES=full TEST_SEED=7 node --import tsx test/integration/histories.full.ts
 */

import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import { type RecordEffect, ResultCache } from '#records/store-embedded/result-cache.ts';
import { SharedStore } from '#records/store-shared/shared-store.ts';
import { historyProblem, type Operation } from '../services/check-history.ts';
import { openQueryHarness, type QueryHarness } from '../services/query-harness.ts';
import {
  type RecordedHistory,
  recordHistory,
  requestedHistory,
  type Send,
} from '../services/record-history.ts';
import { silentLog } from '../services/silent-log.ts';

const { operations, seed } = requestedHistory({ usual: 1500, full: 100_000 });
const cacheBytes = 8 * 1024 ** 2;
// a hang is found by it; what a run may take grows with what was asked for
t.setTimeout(300_000 + operations * 30);

type Step = readonly ['read' | 'write', value: number, start: number, end: number];

const register = (steps: readonly Step[]): Operation<number>[] =>
  steps.map(([kind, value, start, end]) => ({
    kind,
    name: `${kind} ${value}`,
    start,
    end,
    apply: (state) => (kind === 'write' ? value : state === value ? state : undefined),
  }));
const problemOf = (...steps: Step[]): string | null => historyProblem(register(steps), 0, String);

t.test('the check lets pass what some order explains', async (t) => {
  t.equal(problemOf(['write', 1, 0, 1], ['read', 1, 2, 3], ['write', 2, 4, 5], ['read', 2, 6, 7]), null);
  t.equal(
    problemOf(['write', 1, 0, 1], ['write', 2, 2, 9], ['read', 1, 3, 4], ['read', 2, 5, 6]),
    null,
    'a write takes effect at any time until it ends',
  );
  t.equal(problemOf(['write', 1, 0, 9], ['write', 2, 0, 9], ['read', 2, 1, 2], ['read', 1, 3, 4]), null);
  t.equal(
    problemOf(['write', 1, 0, Number.POSITIVE_INFINITY], ['read', 0, 5, 6], ['read', 1, 7, 8]),
    null,
    'one without an answer takes effect later, or never',
  );
  t.equal(problemOf(['write', 1, 0, 2], ['read', 0, 2, 3]), null, 'what touches overlaps');
});

t.test('the check finds what no order explains', async (t) => {
  t.ok(problemOf(['write', 1, 0, 1], ['write', 2, 2, 3], ['read', 1, 4, 5]), 'a stale read');
  t.ok(
    problemOf(['write', 1, 0, 1], ['write', 2, 2, 9], ['read', 2, 3, 4], ['read', 1, 5, 6]),
    'back to an old value',
  );
  t.ok(problemOf(['read', 1, 0, 1], ['write', 1, 2, 3]), 'a value from the future');
  t.ok(problemOf(['write', 1, 0, 1], ['read', 0, 2, 3]), 'a write that was lost');
  t.ok(
    problemOf(
      ['write', 1, 0, 9],
      ['write', 2, 0, 9],
      ['read', 2, 1, 2],
      ['read', 1, 3, 4],
      ['read', 2, 5, 6],
    ),
    'one write that takes effect twice',
  );
  t.ok(problemOf(['read', 7, 0, 1]), 'what nobody wrote');
});

const sendTo =
  (harness: Pick<QueryHarness, 'call'>): Send =>
  (call) =>
    harness.call(call);

/** Which history, and what it does more or less often than usual. */
interface Mix {
  readonly round?: number;
  readonly writeShare?: number;
  readonly updateShare?: number;
}

interface RunOptions {
  readonly cache?: ResultCache;
  /** Whether writes go through the log; absent: they do. */
  readonly logged?: boolean;
  /** What stands between the clients and the service. */
  readonly through?: (send: Send) => Send;
}

/** @returns histories of the service, one after the other, in spaces of their own */
async function open(
  test: { teardown(handler: () => unknown): unknown },
  { cache = new ResultCache(cacheBytes), logged = true, through = (send) => send }: RunOptions,
): Promise<(count: number, mix?: Mix) => Promise<RecordedHistory>> {
  const harness = await openQueryHarness({
    singleWriter: true,
    cache: () => cache,
    ...(logged ? {} : { store: (engine) => byStatements(engine, cache) }),
    // no space is held in memory, which would answer in place of the cache
    pending: { cacheBytes: 0 },
  });
  test.teardown(() => harness.close());
  const processes = [through(sendTo(harness))];
  return (count, { round = 0, ...shares } = {}) =>
    recordHistory({
      processes,
      operations: count,
      seed: seed + round,
      slug: `histories-${round}`,
      ...shares,
    });
}

/** A store that is alone, all of whose writes are statements. */
function byStatements(engine: { db: Database; database: string }, results: ResultCache): WritableStore {
  const versions = { read: async () => null, begin: results.beginWrite };
  const store = new SharedStore({
    ...engine,
    versions,
    cacheBytes: 0,
    metrics: unmeasured,
    log: silentLog(),
  });
  return Object.assign(store, { results, singleWriter: true });
}

const attempts = 12;
const attemptOperations = 600;

/** Whether the check finds something within a few short histories. */
async function findsProblem(t: Test, options: RunOptions, mix: Mix = {}): Promise<void> {
  const record = await open(t, options);
  for (let round = 0; round < attempts; round++) {
    const { problems } = await record(attemptOperations, { round, writeShare: 0.1, ...mix });
    if (problems.length === 0) continue;
    t.comment(`history ${round + 1}: ${problems[0]}`);
    t.pass();
    return;
  }
  t.fail(`nothing was found in ${attempts} histories of ${attemptOperations} operations`);
}

t.test('histories of one process are linearizable', async (t) => {
  const cache = new ResultCache(cacheBytes);
  const { problems, reads, writes, outcomes, unknown } = await (await open(t, { cache }))(operations);
  t.strictSame(problems, []);
  t.equal(unknown, 0, 'every write has an answer');
  t.ok(cache.hits > reads / 20, `reads are answered from the cache: ${cache.hits} of ${reads}`);
  for (const name of ['insertOne 200', 'updateOneById 200', 'updateOne 200', 'deleteOneById 200']) {
    t.ok((outcomes.get(name) ?? 0) > 0, name);
  }
  t.comment(`seed ${seed}: ${writes} writes, ${reads} reads, ${cache.hits} from the cache`);
  t.comment(JSON.stringify([...outcomes]));
});

class NothingDropped extends ResultCache {
  override begin(): () => void {
    return () => {};
  }
}

class DroppedWhenVisible extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    return () => super.begin(spaceId, effects)();
  }
}

/** With a log a write can be seen in one step: any time later is too late. */
class DroppedATickLater extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    setImmediate(() => super.begin(spaceId, effects)());
    return () => {};
  }
}

class DroppedAfterTheAnswer extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    return () => void setTimeout(() => super.begin(spaceId, effects)(), 30);
  }
}

class ReadMeanwhileIsKept extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    super.begin(spaceId, effects)();
    return () => {};
  }
}

/** Too little: what has conditions on values is taken for untouched. */
class ChangesDropTooLittle extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    // of a change, what the record was before comes first
    return super.begin(spaceId, effects?.slice(-1) ?? []);
  }
}

class InsertsDropTooLittle extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    return super.begin(spaceId, effects === null ? null : []);
  }
}

/** Of several spaces only others are thought to have changed. */
class AnotherSpaceDropped extends ResultCache {
  override begin(spaceId: string, effects: readonly RecordEffect[] | null): () => void {
    return super.begin(`${spaceId.slice(1)}0`, effects);
  }
}

/** Ways of a cache to be wrong, each of which has to be found. */
const brokenCaches = {
  'nothing is dropped': NothingDropped,
  'results are dropped when the write can be seen already': DroppedWhenVisible,
  'results are dropped a tick later': DroppedATickLater,
  'results are dropped after the answer': DroppedAfterTheAnswer,
  'what is read meanwhile is kept': ReadMeanwhileIsKept,
  'a change drops too little': ChangesDropTooLittle,
  'an insert drops too little': InsertsDropTooLittle,
  'another space is dropped': AnotherSpaceDropped,
};

/** These are only wrong where a write takes a statement, from which on it is seen at some time. */
const onlyStatements: readonly (typeof ResultCache)[] = [DroppedWhenVisible, ReadMeanwhileIsKept];

for (const [name, Broken] of Object.entries(brokenCaches)) {
  t.test(`it is found when ${name}`, async (t) => {
    // the next update would make good what an insert left
    const mix = Broken === InsertsDropTooLittle ? { updateShare: 0 } : {};
    const logged = !onlyStatements.includes(Broken);
    await findsProblem(t, { cache: new Broken(cacheBytes), logged }, mix);
  });
}

const isUpdate = ({ path }: Parameters<Send>[0]): boolean => path.endsWith('/update-by-id');
const isRead = ({ method, body }: Parameters<Send>[0]): boolean => method === undefined && body === undefined;

/** Writes that are made behind an answer: they end before the engine does. */
const late = new Set<Promise<unknown>>();

/** Ways of a service to be wrong, whatever it stores in. */
const brokenServices: Readonly<Record<string, (send: Send) => Send>> = {
  'a write is acknowledged before it is made': (send) => async (call) => {
    if (!isUpdate(call)) return send(call);
    const [[, id]] = call.query as [[string, string]];
    const before = await send({
      ...call,
      path: call.path.replace('update-by-id', '_single_'),
      body: undefined,
    });
    if (before?.body == null) return send(call);
    const made = sleep(20).then(() => send(call));
    late.add(made);
    void made.finally(() => late.delete(made));
    return { ...before, body: { ...before.body, ...(call.body as object), id } };
  },
  'one write in twenty is lost': (send) => {
    let updates = 0;
    return async (call) => {
      if (!isUpdate(call) || ++updates % 20 > 0) return send(call);
      const before = await send({
        ...call,
        path: call.path.replace('update-by-id', '_single_'),
        body: undefined,
      });
      if (before?.body == null) return send(call);
      return { ...before, body: { ...before.body, ...(call.body as object) } };
    };
  },
  'reads are those of a replica that lags': (send) => {
    const last = new Map<string, { readonly at: number; readonly answer: ReturnType<Send> }>();
    return (call) => {
      if (!isRead(call)) return send(call);
      const key = JSON.stringify(call);
      const known = last.get(key);
      if (known !== undefined && performance.now() - known.at < 300) return known.answer;
      const answer = send(call);
      last.set(key, { at: performance.now(), answer });
      return answer;
    };
  },
};

for (const [name, through] of Object.entries(brokenServices)) {
  t.test(`it is found when ${name}`, async (t) => {
    await findsProblem(t, { through });
    await Promise.all(late);
  });
}
