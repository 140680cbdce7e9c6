import { mebibyte } from '../harness/bytes.ts';
import { sampleOf } from '../harness/median.ts';
import { residentBytes } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import { settle } from '../harness/settle.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Measure } from './measure.ts';
import { sendBurst } from './send-burst.ts';
import { withSubjects } from './with-subjects.ts';

const most = 3;
const budget = 256 * mebibyte;

/**
 * Do 200 uploads of 16 MiB that arrive at the same moment all succeed, and does memory stay within the budget that
 * uploads share (UPLOAD_MEMORY_BYTES)? Every file is different and is compared by checksum, which detects bytes of one
 * upload in another's object. Each round has a new process.
 */
export const u4: Measure = {
  id: 'U4',
  async run(bench) {
    const count = bench.quick ? 60 : 200;
    const size = (bench.quick ? 4 : 16) * mebibyte;
    const rounds = Math.min(bench.rounds, most);
    const env = { UPLOAD_MEMORY_BYTES: String(budget) };
    const overs: number[] = [];
    const speeds: number[] = [];
    const problems: string[] = [];
    let right = 0;
    for (let round = 1; round <= rounds; round++) {
      await bench.sink.forget();
      await withSubjects([() => startSluice({ ...bench, env })], async ([sluice]) => {
        if (sluice === undefined) return;
        await settle();
        const idle = residentBytes(sluice.pids);
        const files = Array.from({ length: count }, (_, index) => ({ index: 1000 * round + index, size }));
        const figures = await sendBurst(sluice, files, count);
        const over = figures.peakMemory - idle - budget;
        const good = figures.uploads.filter(({ problem }) => problem === null).length;
        right += good;
        overs.push(over);
        speeds.push(figures.bytesPerSecond);
        problems.push(...figures.problems);
        progress(
          `U4: round ${round} of ${rounds}: ${good} of ${count} answered well, ${figures.problems.length} problems, ` +
            `+${((over + budget) / mebibyte).toFixed(1)} MiB, ${Math.round(figures.bytesPerSecond / mebibyte)} MiB/s`,
        );
      });
    }
    const over = sampleOf(overs);
    const value = over.median / mebibyte;
    const growth = value + budget / mebibyte;
    return [
      {
        measure: 'U4',
        what: `${count} files of ${size / mebibyte} MiB at once, memory growth`,
        subject: `Sluice: ${right} of ${count * rounds} right, +${growth.toFixed(1)} MiB`,
        baseline: `budget: ${budget / mebibyte} MiB`,
        goal: { bound: 'at most', first: 128, aim: 32, unit: ' MiB over budget' },
        value,
        shown: `${value.toFixed(1)} MiB`,
        problems,
        details: {
          budget,
          budgetWasSet: 'UPLOAD_MEMORY_BYTES' in env,
          overBudget: over,
          bytesPerSecond: sampleOf(speeds),
        },
      },
    ];
  },
};
