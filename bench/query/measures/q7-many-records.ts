import type { Finding } from '../../upload/measures/measure.ts';
import { cacheOff, compare, connections, type QueryMeasure } from './query-bench.ts';

const goal = { bound: 'at most', first: 3, aim: 1.5, unit: 'x' } as const;
const few = 100_000;
const many = 10_000_000;

/** How much longer does an uncached findOne by a unique field take among 10,000,000 records than among 100,000? */
export const q7: QueryMeasure = {
  id: 'Q7',
  long: true,
  async run({ store, rounds, seconds }) {
    const stores = [await store(many), await store(few)];
    const [large, small] = await Promise.all(stores.map((made) => made.start(cacheOff)));
    if (large === undefined || small === undefined) throw new Error('no process was started');
    const findings: Finding[] = [];
    try {
      for (const open of [connections, 1]) {
        const job = () => ({ kind: 'findOneDistinct', seconds, connections: open }) as const;
        const [subject, baseline] = await compare('Q7', rounds, [
          { name: '10,000,000', child: large, job },
          { name: '100,000', child: small, job },
        ]);
        const time = (side: typeof subject): number => side.p50.median;
        const value = time(subject) / time(baseline);
        const show = (side: typeof subject): string => `${side.name}: ${time(side).toFixed(1)} ms`;
        findings.push({
          measure: 'Q7',
          goal,
          value,
          subject: show(subject),
          baseline: show(baseline),
          what: `findOne, ${open} connections, p50, cache off`,
          shown: `${value.toFixed(2)}x`,
          problems: [...subject.problems, ...baseline.problems],
          details: { subject, baseline },
        });
      }
      return findings;
    } finally {
      await large.stop();
      await small.stop();
    }
  },
};
