import { gibibyte, mebibyte } from '../harness/bytes.ts';
import { sampleOf } from '../harness/median.ts';
import { residentBytes } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import { settle } from '../harness/settle.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Measure } from './measure.ts';
import { sendBurst } from './send-burst.ts';
import { withSubjects } from './with-subjects.ts';

const most = 3;

/**
 * By how much does the gateway's resident memory grow during one upload of 4 GiB? Measured from the idle process
 * before its first request, so that the figure includes what a first request loads. Each round has a new process, because
 * a second upload reuses the memory of the first.
 */
export const u3: Measure = {
  id: 'U3',
  async run(bench) {
    const size = bench.quick ? 256 * mebibyte : 4 * gibibyte;
    const rounds = Math.min(bench.rounds, most);
    const growths: number[] = [];
    const speeds: number[] = [];
    const idles: number[] = [];
    const problems: string[] = [];
    for (let round = 1; round <= rounds; round++) {
      await withSubjects([() => startSluice(bench)], async ([sluice]) => {
        if (sluice === undefined) return;
        await settle();
        const idle = residentBytes(sluice.pids);
        const figures = await sendBurst(sluice, [{ index: round, size }]);
        const growth = figures.peakMemory - idle;
        idles.push(idle);
        growths.push(growth);
        speeds.push(figures.bytesPerSecond);
        problems.push(...figures.problems);
        progress(
          `U3: round ${round} of ${rounds}: +${(growth / mebibyte).toFixed(1)} MiB over ${(idle / mebibyte).toFixed(0)} MiB, ` +
            `${Math.round(figures.bytesPerSecond / mebibyte)} MiB/s, ${figures.memorySamples} samples`,
        );
      });
    }
    const growth = sampleOf(growths);
    const value = growth.median / mebibyte;
    return [
      {
        measure: 'U3',
        what: `memory growth, one file of ${size / mebibyte} MiB`,
        subject: `Sluice: +${value.toFixed(1)} MiB`,
        baseline: `idle: ${(sampleOf(idles).median / mebibyte).toFixed(0)} MiB`,
        goal: { bound: 'at most', first: 128, aim: 64, unit: ' MiB' },
        value,
        shown: `${value.toFixed(1)} MiB`,
        problems,
        details: { growth, idle: sampleOf(idles), bytesPerSecond: sampleOf(speeds) },
      },
    ];
  },
};
