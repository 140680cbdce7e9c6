import { compare, type QueryMeasure, rateFinding, startEngine } from './query-bench.ts';

const goal = { bound: 'at least', first: 20, aim: 60, unit: 'x' } as const;

/** How many updateOneById a second, durable when answered, against one lightweight UPDATE a request? */
export const q10: QueryMeasure = {
  id: 'Q10',
  async run({ store, rows, rounds, seconds }) {
    const made = await store(rows);
    const [sluice, engine] = [await made.start(), await startEngine(rows)];
    try {
      const [subject, baseline] = await compare('Q10', rounds, [
        { name: 'Sluice', child: sluice, job: () => ({ kind: 'updateOneById', seconds, ids: made.ids }) },
        { name: 'an UPDATE a request', child: engine, job: () => ({ kind: 'engineUpdateOne', seconds }) },
      ]);
      if (subject === undefined || baseline === undefined) throw new Error('nothing was compared');
      return [rateFinding('Q10', 'updateOneById', [subject, baseline], goal)];
    } finally {
      await sluice.stop();
      await engine.stop();
    }
  },
};
