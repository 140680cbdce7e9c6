import { cacheOff, compare, type QueryMeasure, rateFinding } from './query-bench.ts';

const goal = { bound: 'at least', first: 0.4, aim: 0.7, unit: '' } as const;

/** How much slower are findOnes of 2,000 values if every tenth request is an insertOne into the same space? */
export const q8: QueryMeasure = {
  id: 'Q8',
  async run({ store, rows, rounds, seconds }) {
    const made = await store(rows);
    const findings = [];
    for (const cache of ['warm', 'off'] as const) {
      const child = await made.start(cache === 'off' ? cacheOff : {});
      try {
        const [subject, baseline] = await compare('Q8', rounds, [
          { name: 'nine to one', child, job: () => ({ kind: 'mixed', seconds }) },
          { name: 'findOne alone', child, job: () => ({ kind: 'mixedReads', seconds }) },
        ]);
        const what = `nine findOne to one insertOne, cache ${cache}`;
        // the goal is for the default settings
        findings.push(rateFinding('Q8', what, [subject, baseline], cache === 'warm' ? goal : null));
      } finally {
        await child.stop();
      }
    }
    return findings;
  },
};
