import { mebibyte } from '../harness/bytes.ts';
import { residentBytes } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import { settle } from '../harness/settle.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { sendBurst } from './send-burst.ts';
import { withSubjects } from './with-subjects.ts';

const size = 20_000_000;
const budget = 256 * mebibyte;
/** The rate of each connection to the store. */
const bytesPerSecond = 1_000_000;
/** How long a burst's memory may stay. */
const calmMilliseconds = 20_000;

interface Burst {
  readonly uploads: number;
  readonly stored: number;
  readonly statuses: Readonly<Record<number, number>>;
  /** Bytes of files that were answered with 200, a second, until the last answer. */
  readonly goodput: number;
  readonly connections: { readonly most: number; readonly mean: number };
  readonly slowestSeconds: number;
  readonly peakMemory: number;
}

/**
 * How many bytes per second reach a store with 1 MB/s per connection, with more and more concurrent uploads of 20 MB? Each
 * goodput is compared with the best of any smaller number of uploads: a crowd must not reduce it. The slowest upload is
 * compared with its fair share: all bytes at the best goodput. Afterwards the crowd's memory should be released.
 */
export const u9: Measure = {
  id: 'U9',
  run: (bench) =>
    withSubjects(
      [() => startSluice({ ...bench, env: { UPLOAD_MEMORY_BYTES: String(budget) } })],
      ([sluice]) => compare(bench, sluice as Subject),
    ),
};

async function compare(bench: Bench, sluice: Subject): Promise<Finding[]> {
  const numbers = bench.quick ? [2, 8] : [10, 20, 30, 40, 100, 400];
  const judged = bench.quick ? [8] : [40, 100, 400];
  const problems: string[] = [];
  const bursts: Burst[] = [];
  await sendBurst(sluice, [{ index: 1, size }]);
  await settle();
  const idle = residentBytes(sluice.pids);
  await bench.sink.throttle(bench.quick ? 20 * bytesPerSecond : bytesPerSecond);
  for (const uploads of numbers) {
    const burst = await measure(bench, sluice, uploads, problems);
    bursts.push(burst);
    progress(`U9: ${describe(burst)}`);
  }
  await bench.sink.throttle(0);
  await new Promise((resolve) => setTimeout(resolve, calmMilliseconds));
  const kept = residentBytes(sluice.pids) - idle;
  const peak = Math.max(...bursts.map(({ peakMemory }) => peakMemory)) - idle;
  progress(
    `U9: +${mib(peak)} MiB at most, +${mib(kept)} MiB ${calmMilliseconds / 1000} s after the last answer`,
  );
  const shares = bursts
    .filter(({ uploads }) => judged.includes(uploads))
    .map((burst) => {
      const smaller = bursts.filter(({ uploads }) => uploads < burst.uploads);
      const best = Math.max(...smaller.map(({ goodput }) => goodput));
      const fairSeconds = (burst.uploads * size) / Math.max(best, burst.goodput);
      return { ...burst, share: burst.goodput / best, slowest: burst.slowestSeconds / fairSeconds };
    });
  const value = Math.min(...shares.map(({ share }) => share));
  const refused = bursts.reduce((sum, { uploads, stored }) => sum + uploads - stored, 0);
  return [
    {
      measure: 'U9',
      what: `goodput of ${judged.join(', ')} uploads of 20 MB to a store of 1 MB/s a connection`,
      subject: `${shares.map(({ goodput }) => mb(goodput)).join(', ')} MB/s; ${refused} refused; slowest ${Math.max(...shares.map(({ slowest }) => slowest)).toFixed(2)}x its share`,
      baseline: `best of fewer: ${mb(Math.max(...bursts.filter(({ uploads }) => !judged.includes(uploads)).map(({ goodput }) => goodput)))} MB/s`,
      goal: { bound: 'at least', first: 0.9, aim: 1, unit: '' },
      value,
      shown: value.toFixed(2),
      problems,
      remark: bursts.map(describe).join('; '),
      details: { bursts, shares, memory: { peak, kept, calmMilliseconds } },
    },
  ];
}

async function measure(bench: Bench, sluice: Subject, uploads: number, problems: string[]): Promise<Burst> {
  await bench.sink.forget();
  await bench.sink.throttle(bench.quick ? 20 * bytesPerSecond : bytesPerSecond);
  const files = Array.from({ length: uploads }, (_, index) => ({ index: uploads * 1000 + index, size }));
  const figures = await sendBurst(sluice, files, uploads);
  problems.push(...figures.problems);
  const statuses: Record<number, number> = {};
  for (const { status } of figures.uploads) statuses[status] = (statuses[status] ?? 0) + 1;
  const stored = figures.uploads.filter(({ problem }) => problem === null).length;
  return {
    uploads,
    stored,
    statuses,
    goodput: figures.bytesPerSecond * (stored / uploads),
    connections: await bench.sink.connections(),
    slowestSeconds: Math.max(...figures.uploads.map(({ milliseconds }) => milliseconds)) / 1000,
    peakMemory: figures.peakMemory,
  };
}

function describe({ uploads, statuses, goodput, connections, slowestSeconds }: Burst): string {
  const answers = Object.entries(statuses).map(([status, count]) => `${count} x ${status}`);
  return (
    `${uploads} uploads: ${answers.join(', ')}, ${mb(goodput)} MB/s, slowest ${slowestSeconds.toFixed(1)} s, ` +
    `${connections.mean.toFixed(0)} connections to S3 (most ${connections.most})`
  );
}

function mb(bytesPerSecond: number): string {
  return (bytesPerSecond / 1e6).toFixed(1);
}

function mib(bytes: number): string {
  return (bytes / mebibyte).toFixed(0);
}
