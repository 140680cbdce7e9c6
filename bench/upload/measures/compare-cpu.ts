import { mebibyte } from '../harness/bytes.ts';
import { median, type Sample, sampleOf } from '../harness/median.ts';
import { progress } from '../harness/progress.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench } from './measure.ts';
import { sendBurst } from './send-burst.ts';

export interface CpuFigures {
  readonly name: string;
  readonly cpuSecondsPerGiB: Sample;
  readonly bytesPerSecond: Sample;
}

/**
 * CPU time per GiB of large files, one at a time, for several servers in turns: A B C A B C, so that other work on the
 * machine affects all of them. Every server is warmed up first, and every upload is checked.
 */
export async function compareCpu(
  measure: string,
  bench: Bench,
  subjects: readonly Subject[],
): Promise<{ figures: CpuFigures[]; problems: string[] }> {
  const size = (bench.quick ? 64 : 512) * mebibyte;
  // the clock of /proc has steps of 10 ms: two files make a round long enough for the fastest server
  const files = [
    { index: 1, size },
    { index: 2, size },
  ];
  const problems: string[] = [];
  const rounds = subjects.map((subject) => ({ subject, cpu: [] as number[], speed: [] as number[] }));
  for (const subject of subjects) {
    progress(`${measure}: warming up ${subject.name}`);
    const { problems: found } = await sendBurst(subject, [{ index: 3, size: Math.min(size, 64 * mebibyte) }]);
    problems.push(...found);
  }
  for (let round = 1; round <= bench.rounds; round++) {
    for (const { subject, cpu, speed } of rounds) {
      const figures = await sendBurst(subject, files);
      cpu.push(figures.cpuSecondsPerGiB);
      speed.push(figures.bytesPerSecond);
      problems.push(...figures.problems);
      progress(
        `${measure}: round ${round} of ${bench.rounds}, ${subject.name}: ` +
          `${figures.cpuSecondsPerGiB.toFixed(2)} CPU s/GiB, ${Math.round(figures.bytesPerSecond / mebibyte)} MiB/s`,
      );
    }
  }
  return {
    figures: rounds.map(({ subject, cpu, speed }) => ({
      name: subject.name,
      cpuSecondsPerGiB: sampleOf(cpu),
      bytesPerSecond: sampleOf(speed),
    })),
    problems,
  };
}

export function showCpu({ name, cpuSecondsPerGiB }: CpuFigures): string {
  return `${name}: ${cpuSecondsPerGiB.median.toFixed(2)} s/GiB`;
}

/** The median of each round's own ratio would be as good; this one can be checked against the table. */
export function cpuRatio(subject: CpuFigures, baseline: CpuFigures): number {
  return median(subject.cpuSecondsPerGiB.values) / median(baseline.cpuSecondsPerGiB.values);
}
