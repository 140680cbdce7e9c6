import { compare, load, type QueryMeasure, rateFinding, startBare } from './query-bench.ts';

/**
 * How many repeated findOne per second, as a share of uWebSockets.js with constant answers? If the load can't keep both
 * busy the rate says little, so the smaller share counts: by rate or by CPU time per answer.
 */
export const q1: QueryMeasure = {
  id: 'Q1',
  async run({ store, rows, rounds, seconds }) {
    const made = await store(rows);
    const sluice = await made.start();
    const bare = await startBare();
    try {
      // the cache has it from here on
      await load(sluice, { kind: 'findOneRepeated', seconds: 1 });
      const [hit, answer] = await compare('Q1', rounds, [
        { name: 'Sluice', child: sluice, job: () => ({ kind: 'findOneRepeated', seconds }) },
        { name: 'bare uWS', child: bare, job: () => ({ kind: 'bare', seconds }) },
      ]);
      const goal = { bound: 'at least', first: 0.35, aim: 0.7, unit: '' } as const;
      const finding = rateFinding('Q1', 'findOne repeated, warm', [hit, answer], goal);
      const byCpu = answer.cpuMicroseconds.median / hit.cpuMicroseconds.median;
      const value = Math.min(finding.value ?? 0, byCpu);
      const cpu = [hit, answer].map(({ cpuMicroseconds }) => cpuMicroseconds.median.toFixed(1));
      return [
        {
          ...finding,
          value,
          shown: value.toFixed(2),
          remark: `share of the rate ${finding.shown}, of the CPU time ${byCpu.toFixed(2)} (${cpu.join(' and ')} us an answer)`,
        },
      ];
    } finally {
      await sluice.stop();
      await bare.stop();
    }
  },
};
