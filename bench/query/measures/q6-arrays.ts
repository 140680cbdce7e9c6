import { sampleOf } from '../../upload/harness/median.ts';
import { cpuSeconds } from '../../upload/harness/process-usage.ts';
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
    // millions of records more would change what the measures after it say
    const made = await store(rows, 'arrays');
    const [sluice, engine] = [await made.start(), await startEngine(rows, 'arrays')];
    const findings: Finding[] = [];
    try {
      for (const size of brief ? ([1000] as const) : ([1000, 5000] as const)) {
        const through: number[] = [];
        const raw: number[] = [];
        const cpu: [number[], number[]] = [[], []];
        let bad = 0;
        for (let round = 0; round <= rounds; round++) {
          const result = await load(sluice, { kind: `insert${size}`, seconds, connections });
          const job = { size, seconds, connections, from: 500_000_000 + round * 1_000_000 };
          const before = cpuSeconds([engine.pid]);
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
          cpu[0].push(result.cpuMicroseconds / size);
          cpu[1].push(((cpuSeconds([engine.pid]) - before) * 1e6) / (perSecond * seconds));
        }
        const [subject, baseline] = [sampleOf(through), sampleOf(raw)];
        const value = subject.median / baseline.median;
        const [own, others] = cpu.map((all) => `${sampleOf(all).median.toFixed(1)} µs of CPU each`);
        findings.push({
          measure: 'Q6',
          what: `insert in arrays of ${size}, unique field`,
          goal,
          value,
          subject: `Sluice: ${Math.round(subject.median)} records/s, ${own}`,
          baseline: `raw INSERT: ${Math.round(baseline.median)} records/s, ${others}`,
          shown: value.toFixed(2),
          problems: bad === 0 ? [] : [`${bad} answers that are not 200`],
          details: { subject, baseline, cpu, connections },
        });
      }
      return findings;
    } finally {
      await sluice.stop();
      await engine.stop();
    }
  },
};
