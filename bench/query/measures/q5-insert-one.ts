import { compare, type QueryMeasure, rateFinding, startEngine } from './query-bench.ts';

const goal = { bound: 'at least', first: 10, aim: 30, unit: 'x' } as const;

/** How many insertOne a second with a unique field, durable when answered, against one INSERT a request? */
export const q5: QueryMeasure = {
  id: 'Q5',
  async run({ store, rows, rounds, seconds }) {
    const made = await store(rows);
    const [sluice, engine] = [await made.start(), await startEngine(rows)];
    try {
      const [subject, baseline] = await compare('Q5', rounds, [
        { name: 'Sluice', child: sluice, job: () => ({ kind: 'insertOne', seconds }) },
        { name: 'an INSERT a request', child: engine, job: () => ({ kind: 'engineInsertOne', seconds }) },
      ]);
      if (subject === undefined || baseline === undefined) throw new Error('nothing was compared');
      return [rateFinding('Q5', 'insertOne with a unique field', [subject, baseline], goal)];
    } finally {
      await sluice.stop();
      await engine.stop();
    }
  },
};
