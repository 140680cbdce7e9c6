/**
 * Random sequences of operations, answered by the service and by a model of its contract (test/model): any difference
 * is a failure. MODEL_SEQUENCES and TEST_SEED ask for more and for others; what failed is printed with its seed.
 */
import t, { type Test } from 'tap';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import type { MemoryTable } from '#records/memory/memory-table.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import { checkSequences, requestedRuns } from '../model/check-sequences.ts';
import { type ConcurrentPlan, concurrentPlan } from '../model/concurrent-plan.ts';
import { runConcurrent } from '../model/run-concurrent.ts';
import { newTally, runSequence, type ServiceProcesses, type Tally } from '../model/run-sequence.ts';
import { type SequencePlan, type StepPlan, sequencePlan } from '../model/sequence-plan.ts';
import { openQueryHarness } from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { sized } from '../services/test-size.ts';

const runs = requestedRuns(sized(45, 9));
// a hang is found by it; what a run may take grows with what was asked for
t.setTimeout(3 * (120_000 + runs.sequences * 5_000));

/** Sets of routes over one engine, each with caches of its own as a process has them. */
async function openProcesses(
  test: { teardown(handler: () => unknown): unknown },
  count: number,
  options: Parameters<typeof openQueryHarness>[0] = {},
): Promise<ServiceProcesses> {
  const harness = await openQueryHarness({
    ...(count === 1 ? {} : { singleWriter: false }),
    ...options,
    hasher: quickHasher(),
    // what one process changes the other goes by at once, instead of after the 10 s that are promised
    ...(count === 1 ? {} : { freshness: { freshFor: -1, staleAfter: -1 } }),
  });
  test.teardown(() => harness.close());
  const processes = Array.from({ length: count }, () => harness.another());
  return {
    count,
    call: (index, call) => (processes[index] as (typeof processes)[number]).call(call),
    forget: (index) => {
      processes[index] = harness.another();
    },
  };
}

function report(
  test: { comment(text: string): unknown; equal(a: number, b: number): unknown },
  tally: Tally,
  { seed, sequences } = runs,
): void {
  const outcomes = [...tally.outcomes].sort(([a], [b]) => (a < b ? -1 : 1));
  test.comment(`seed ${seed}: ${tally.sequences} sequences, ${tally.operations} operations`);
  test.comment(outcomes.map(([name, times]) => `${name}: ${times}`).join(', '));
  test.equal(tally.sequences, sequences);
}

for (const count of [1, 2]) {
  t.test(`${count} ${count === 1 ? 'process' : 'processes'}: every answer is the model's`, async (t) => {
    t.setTimeout(120_000 + runs.sequences * 5_000);
    const processes = await openProcesses(t, count);
    const tally = newTally();
    let project = 0;
    const run = (plan: SequencePlan) => runSequence(plan, `p${project++}`, processes, tally);
    await checkSequences(sequencePlan, runs, run, (line) => t.comment(line));
    report(t, tally);
  });
}

t.test('operations at once, from two processes: some order of them explains what is left', async (t) => {
  t.setTimeout(120_000 + runs.sequences * 5_000);
  const processes = await openProcesses(t, 2);
  const tally = newTally();
  let project = 0;
  const run = (plan: ConcurrentPlan) => runConcurrent(plan, `c${project++}`, processes, tally);
  await checkSequences(concurrentPlan, runs, run, (line) => t.comment(line));
  report(t, tally);
});

/** One process that has its store to itself, with what it keeps and without: the model is the same, so the answers are. */
const ways = {
  'kept results': { results: 16 * 1024 ** 2, rows: 0 },
  'rows in memory': { results: 0, rows: 8e6 },
  'nothing kept': { results: 0, rows: 0 },
} as const;

/** Tables that count what they answer. */
class CountedTables extends MemoryTables {
  answers = 0;

  override find(spaceId: string): MemoryTable | null {
    const table = super.find(spaceId);
    if (table !== null) this.answers++;
    return table;
  }
}

for (const [way, bytes] of Object.entries(ways)) {
  // together they are as many as before there were three
  const fewer = { ...runs, sequences: Math.ceil((runs.sequences * 2) / 9) };
  const open = async (test: Test) => {
    const results = new CacheCounts();
    const tables = new CountedTables(bytes.rows);
    const processes = await openProcesses(test, 1, {
      singleWriter: true,
      cache: () => new ResultCache(bytes.results, results),
      pending: { known: new KnownRecords(tables), fewestMisses: 1 },
    });
    const check = (): void => {
      test.equal(results.hits > 0, bytes.results > 0, `${results.hits} answers were kept`);
      test.equal(tables.answers > 0, bytes.rows > 0, `${tables.answers} times rows were in memory`);
    };
    return { processes, check };
  };

  t.test(`alone with the store, ${way}: every answer is the model's`, async (t) => {
    t.setTimeout(120_000 + runs.sequences * 5_000);
    const { processes, check } = await open(t);
    const tally = newTally();
    let project = 0;
    const run = (plan: SequencePlan) => {
      // such a process is not followed by another one while it lives
      const steps = plan.steps.filter(({ operation }) => operation !== 'forget');
      // what is asked twice is answered from what is kept the second time
      return runSequence({ ...plan, steps: steps.flatMap(twiceIfRead) }, `p${project++}`, processes, tally);
    };
    await checkSequences(sequencePlan, fewer, run, (line) => t.comment(line));
    report(t, tally, fewer);
    check();
  });

  t.test(`alone with the store, ${way}: operations at once`, async (t) => {
    t.setTimeout(120_000 + runs.sequences * 5_000);
    const { processes } = await open(t);
    const tally = newTally();
    let project = 0;
    const run = (plan: ConcurrentPlan) => runConcurrent(plan, `c${project++}`, processes, tally);
    await checkSequences(concurrentPlan, fewer, run, (line) => t.comment(line));
    report(t, tally, fewer);
  });
}

function twiceIfRead(step: StepPlan): readonly StepPlan[] {
  return ['find', 'findOne', 'search', 'getKeys'].includes(step.operation) ? [step, step] : [step];
}
