import { percentileOf } from '#load/run/histogram.ts';
import { mebibyte } from '../harness/bytes.ts';
import { repositoryRoot } from '../harness/child-process.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { progress } from '../harness/progress.ts';
import type { SentUpload } from '../load/send-upload.ts';
import type { SilentJob, SilentResult } from '../load/silent-clients.ts';
import { newAccount } from '../subject/new-account.ts';
import { type SluiceSubject, startSluice } from '../subject/start-sluice.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { sendBurst } from './send-burst.ts';
import { withSubjects } from './with-subjects.ts';

interface Crowd {
  readonly clients: number;
  /** Bytes per second of each client, after its first 900 KB. */
  readonly bytesPerSecond: number;
}

const begun = 900_000;
const silent = (clients: number): Crowd => ({ clients, bytesPerSecond: 0 });
/** 2.8 MB/s in all, each above UPLOAD_MIN_RATE. */
const trickling: Crowd = { clients: 200, bytesPerSecond: 14_000 };
/** Files of another account, one after the other: with 30, the p99 is the slowest. */
const files = [
  { mebibytes: 1, count: 600 },
  { mebibytes: 20, count: 100 },
  { mebibytes: 60, count: 30 },
];

/**
 * Uploads of one account send 900 KB each, and then nothing or a trickle: how long do another account's uploads take
 * meanwhile, compared with just before? Each crowd has its own process of the service, and its clients run in a different
 * process than the measured client.
 */
export const u13: Measure = {
  id: 'U13',
  run: async (bench) => {
    const crowds = bench.quick
      ? [{ ...trickling, clients: 5 }]
      : [silent(20), silent(200), silent(1000), trickling];
    const findings: Finding[] = [];
    for (const store of ['fs', 's3'] as const)
      for (const crowd of crowds) findings.push(await compare({ ...bench, store }, crowd));
    return findings;
  },
};

function compare(bench: Bench, crowd: Crowd): Promise<Finding> {
  return withSubjects([() => startSluice(bench)], async ([subject]) => {
    const sluice = subject as SluiceSubject;
    const problems: string[] = [];
    const series = () => measure(bench, sluice, problems);
    await forget(bench, sluice, (await sendBurst(sluice, [{ index: 1, size: 20 * mebibyte }])).uploads);
    const alone = await series();
    const token = await newAccount({ dataDir: sluice.dataDir, root: repositoryRoot }, 'silent@bench.example');
    const job: SilentJob = {
      target: { ...sluice.target, token },
      begun,
      ...crowd,
      // what trickles goes on for longer than others are measured
      size: crowd.bytesPerSecond === 0 ? mebibyte : 20 * mebibyte,
    };
    const load = await prepareLoad<SilentResult>('silent-clients.ts', job);
    load.go();
    await load.reached('all silent');
    const beside = await series();
    load.stop();
    const { ended } = await load.result;
    const value = Math.max(...beside.map(({ p99 }, i) => p99 / (alone[i]?.p99 ?? Number.NaN)));
    const kind = crowd.bytesPerSecond === 0 ? 'silent' : 'trickling';
    const what = `uploads beside ${crowd.clients} ${kind} ones, ${bench.store === 'fs' ? 'file system' : 'S3'}`;
    progress(`U13: ${what}: ${shown(beside)}; alone ${shown(alone)}; ${ended} of the crowd ended`);
    return {
      measure: 'U13',
      what,
      subject: `beside: ${shown(beside)}`,
      baseline: `alone: ${shown(alone)}`,
      goal: { bound: 'at most', first: 3, aim: 2, unit: 'x' },
      value,
      shown: `${value.toFixed(1)}x`,
      problems,
      details: { crowd, alone, beside, ended },
    };
  });
}

interface Series {
  readonly mebibytes: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

async function measure(bench: Bench, sluice: SluiceSubject, problems: string[]): Promise<readonly Series[]> {
  const found: Series[] = [];
  for (const { mebibytes, count } of files) {
    const many = bench.quick ? Math.ceil(count / 100) : count;
    const specs = Array.from({ length: many }, (_, index) => ({ index, size: mebibytes * mebibyte }));
    const burst = await sendBurst(sluice, specs);
    problems.push(...burst.problems);
    await forget(bench, sluice, burst.uploads);
    const times = burst.uploads.map(({ milliseconds }) => milliseconds);
    found.push({ mebibytes, p50: percentileOf(times, 50), p99: percentileOf(times, 99) });
  }
  return found;
}

/** Deletes the files, so that they don't fill the disk or count in the next check. */
async function forget({ sink, store }: Bench, { target }: SluiceSubject, uploads: readonly SentUpload[]) {
  if (store === 's3') return sink.forget();
  const headers = { authorization: `Bearer ${target.token}` };
  for (const { name } of uploads) {
    if (name === null) continue;
    const path = target.path.replace(/upload$/, encodeURIComponent(name));
    await fetch(target.baseUrl + path, { method: 'DELETE', headers });
  }
}

function shown(series: readonly Series[]): string {
  const one = ({ mebibytes, p50, p99 }: Series) => `${mebibytes} MiB ${p50.toFixed(0)} / ${p99.toFixed(0)}`;
  return `${series.map(one).join(', ')} ms`;
}
