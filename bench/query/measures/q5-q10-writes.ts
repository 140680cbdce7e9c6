import type { Finding } from '../../upload/measures/measure.ts';
import {
  compare,
  type Load,
  type QueryBench,
  type QueryMeasure,
  rateFinding,
  startEngine,
} from './query-bench.ts';

interface WriteCase {
  readonly id: string;
  readonly what: string;
  readonly goal: Finding['goal'];
  readonly ours: Load['kind'];
  readonly theirs: Load['kind'];
}

/** How many writes per second, durable when answered, against one statement per request? */
async function writes({ store, rows, rounds, seconds }: QueryBench, wanted: WriteCase): Promise<Finding[]> {
  const { id, what, goal, ours, theirs } = wanted;
  const made = await store(rows);
  const [sluice, engine] = [await made.start(), await startEngine(rows)];
  try {
    const sides = await compare(id, rounds, [
      { name: 'Sluice', child: sluice, job: () => ({ kind: ours, seconds, ids: made.ids }) },
      { name: 'a statement a request', child: engine, job: () => ({ kind: theirs, seconds }) },
    ]);
    return [rateFinding(id, what, sides, goal)];
  } finally {
    await sluice.stop();
    await engine.stop();
  }
}

/** insertOne with a unique field, against an INSERT per request. */
export const q5: QueryMeasure = {
  id: 'Q5',
  run: (bench) =>
    writes(bench, {
      id: 'Q5',
      what: 'insertOne with a unique field',
      ours: 'insertOne',
      theirs: 'engineInsertOne',
      goal: { bound: 'at least', first: 10, aim: 30, unit: 'x' },
    }),
};

/** updateOneById, against a lightweight UPDATE per request. */
export const q10: QueryMeasure = {
  id: 'Q10',
  run: (bench) =>
    writes(bench, {
      id: 'Q10',
      what: 'updateOneById',
      ours: 'updateOneById',
      theirs: 'engineUpdateOne',
      goal: { bound: 'at least', first: 20, aim: 60, unit: 'x' },
    }),
};
