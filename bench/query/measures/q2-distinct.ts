import { cacheOff, compare, type QueryMeasure, rateFinding, startEngine } from './query-bench.ts';

const goal = { bound: 'at least', first: 10, aim: 30, unit: 'x' } as const;

/**
 * How many findOne per second by uncached values of a unique field, against one engine query per request? Once with the
 * cache off, and once with new values.
 */
export const q2: QueryMeasure = {
  id: 'Q2',
  async run({ store, rows, rounds, seconds, brief }) {
    const made = await store(rows);
    const engine = await startEngine(rows);
    const side = { name: 'a query a request', child: engine };
    const asks = { ...side, job: () => ({ kind: 'engineFindOne', seconds }) as const };
    const slice = Math.floor(rows / (rounds + 1));
    try {
      const findings = [];
      for (const cache of brief ? (['off'] as const) : (['off', 'cold'] as const)) {
        const child = await made.start(cache === 'off' ? cacheOff : {});
        const unseen = (round: number) =>
          ({ kind: 'findOneUnseen', seconds, from: round * slice, amount: slice }) as const;
        const distinct = () => ({ kind: 'findOneDistinct', seconds }) as const;
        const job = cache === 'off' ? distinct : unseen;
        try {
          const [subject, baseline] = await compare('Q2', rounds, [{ name: 'Sluice', child, job }, asks]);
          findings.push(rateFinding('Q2', `findOne distinct, cache ${cache}`, [subject, baseline], goal));
        } finally {
          await child.stop();
        }
      }
      return findings;
    } finally {
      await engine.stop();
    }
  },
};
