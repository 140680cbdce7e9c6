import { sampleOf } from '../../upload/harness/median.ts';
import { progress } from '../../upload/harness/progress.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { load, type QueryMeasure, startEngine } from './query-bench.ts';

const goal = { bound: 'at least', first: 0.3, aim: 0.7, unit: '' } as const;
const connections = 4;

/**
 * How many records per second are stored in arrays, with a unique field, against INSERTs of the same rows by only the
 * engine: no HTTP, no JSON to parse (the text is prepared), no index except on the unique field?
 */
export const q6: QueryMeasure = {
  id: 'Q6',
  async run({ store, rows, rounds, seconds, brief }) {
    const made = await store(rows);
    const [sluice, engine] = [await made.start(), await startEngine(rows)];
    const findings: Finding[] = [];
    try {
      for (const size of brief ? ([1000] as const) : ([1000, 5000] as const)) {
        const through: number[] = [];
        const raw: number[] = [];
        let bad = 0;
        for (let round = 0; round <= rounds; round++) {
          const result = await load(sluice, { kind: `insert${size}`, seconds, connections });
          const job = { size, seconds, connections, from: 500_000_000 + round * 1_000_000 };
          const answer = await fetch(`${engine.ready}/raw-insert`, {
            method: 'POST',
            body: JSON.stringify(job),
          });
          const { perSecond } = (await answer.json()) as { perSecond: number };
          progress(
            `Q6: round ${round}, ${size}: ${Math.round(result.perSecond * size)}/s and ${Math.round(perSecond)}/s`,
          );
          // round 0 warms up
          if (round === 0) continue;
          bad += result.bad;
          through.push(result.perSecond * size);
          raw.push(perSecond);
        }
        const [subject, baseline] = [sampleOf(through), sampleOf(raw)];
        const value = subject.median / baseline.median;
        findings.push({
          measure: 'Q6',
          what: `insert in arrays of ${size}, unique field`,
          goal,
          value,
          subject: `Sluice: ${Math.round(subject.median)} records/s`,
          baseline: `raw INSERT: ${Math.round(baseline.median)} records/s`,
          shown: value.toFixed(2),
          problems: bad === 0 ? [] : [`${bad} answers that are not 200`],
          details: { subject, baseline, connections },
        });
      }
      return findings;
    } finally {
      await sluice.stop();
      await engine.stop();
    }
  },
};
