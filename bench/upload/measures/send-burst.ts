import { gibibyte } from '../harness/bytes.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { watchMemory } from '../harness/memory-watch.ts';
import { cpuSeconds } from '../harness/process-usage.ts';
import type { BurstJob, BurstResult } from '../load/burst.ts';
import type { FileSpec, SentUpload } from '../load/send-upload.ts';
import type { Subject } from '../subject/subject.ts';

export interface BurstFigures {
  readonly uploads: readonly SentUpload[];
  readonly problems: readonly string[];
  readonly cpuSecondsPerGiB: number;
  readonly bytesPerSecond: number;
  /** Bytes resident at the peak. */
  readonly peakMemory: number;
  readonly memorySamples: number;
}

/** Sends files to a subject, measures only the subject meanwhile, and then checks the stored files. */
export async function sendBurst(
  subject: Subject,
  files: readonly FileSpec[],
  connections = 1,
): Promise<BurstFigures> {
  const job: BurstJob = { target: subject.target, files, connections };
  const load = await prepareLoad<BurstResult>('burst.ts', job);
  const memory = watchMemory(subject.pids);
  const cpuBefore = cpuSeconds(subject.pids);
  load.go();
  const { uploads, milliseconds } = await load.result;
  const cpu = cpuSeconds(subject.pids) - cpuBefore;
  const { peak, samples } = memory.end();
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return {
    uploads,
    problems: (await subject.problems(uploads)).map((problem) => `${subject.name}: ${problem}`),
    cpuSecondsPerGiB: cpu / (bytes / gibibyte),
    bytesPerSecond: (bytes / milliseconds) * 1000,
    peakMemory: peak,
    memorySamples: samples,
  };
}
