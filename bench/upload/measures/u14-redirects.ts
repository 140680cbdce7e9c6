import { kibibyte } from '../harness/bytes.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { median } from '../harness/median.ts';
import { cpuSeconds } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import type { DownloadsJob, DownloadsResult } from '../load/downloads.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Finding } from './measure.ts';
import { sendDirectly } from './u14-direct-uploads.ts';
import { withSubjects } from './with-subjects.ts';

/** More than is served from memory. */
const size = 100 * kibibyte;
const connections = 32;
/** Rows and addresses of as many files as this are kept in memory, or of none, because they are more than are kept. */
const fewFiles = 1000;
const manyFiles = 12_000;

/** CPU time of a download that is redirected to the bucket, beside the same one through the gateway. */
export function compareRedirects(bench: Bench): Promise<Finding[]> {
  const starts = ['redirect', 'proxy'].map(
    (way) => () => startSluice({ ...bench, store: 's3', env: { DOWNLOADS: way } }),
  );
  return withSubjects(starts, async (subjects) => {
    const [redirecting, proxying] = subjects as [Subject, Subject];
    const location = bench.sink.endpoint;
    const many = await upload(bench, redirecting, bench.quick ? 200 : manyFiles);
    const few = many.slice(0, fewFiles);
    const ours = await upload(bench, proxying, bench.quick ? 100 : fewFiles);
    const ways = [
      { name: 'from memory', subject: redirecting, job: { paths: few, size: 0, location } },
      { name: 'looked up and signed', subject: redirecting, job: { paths: many, size: 0, location } },
      { name: 'through the gateway', subject: proxying, job: { paths: ours, size } },
    ].map((way) => ({ ...way, microseconds: [] as number[] }));
    const problems: string[] = [];
    for (let round = 0; round <= bench.rounds; round++) {
      for (const { name, subject, job, microseconds } of ways) {
        const { cpu, bad, perSecond } = await download(bench, subject, job);
        if (bad > 0) problems.push(`${name}: ${bad} connections failed`);
        // round 0 warms up
        if (round === 0) continue;
        microseconds.push(cpu);
        progress(
          `U14: redirects, round ${round} of ${bench.rounds}, ${name}: ${cpu.toFixed(1)} CPU us, ` +
            `${Math.round(perSecond)}/s`,
        );
      }
    }
    await bench.sink.forget();
    const [kept, signed, proxied] = ways.map(({ microseconds }) => median(microseconds)) as [
      number,
      number,
      number,
    ];
    return [
      {
        measure: 'U14',
        what: 'CPU time of a download by redirect, 1,000 files of 100 KiB',
        subject: `${kept.toFixed(1)} us; ${signed.toFixed(1)} us where each row is read and each address signed`,
        baseline: `through the gateway: ${proxied.toFixed(0)} us`,
        goal: { bound: 'at most', first: 60, aim: 30, unit: ' us' },
        value: kept,
        shown: `${kept.toFixed(1)} us`,
        problems,
        details: {
          connections,
          size,
          figures: ways.map(({ name, microseconds }) => ({ name, microseconds })),
        },
      },
    ];
  });
}

/** @returns the paths of the files */
async function upload(bench: Bench, subject: Subject, files: number): Promise<string[]> {
  const load = { size, contents: 16, clients: 16, files, milliseconds: null };
  const { files: sent, problems } = await sendDirectly(bench, subject, load);
  if (problems[0] !== undefined) throw new Error(problems[0]);
  return sent.map(({ name }) => `/_f_/bench/${name}`);
}

/** @returns CPU microseconds of a download */
async function download(
  bench: Bench,
  { target: { baseUrl }, pids }: Subject,
  files: Pick<DownloadsJob, 'paths' | 'size' | 'location'>,
) {
  const job: DownloadsJob = { ...files, baseUrl, connections, milliseconds: bench.quick ? 500 : 5000 };
  const load = await prepareLoad<DownloadsResult>('downloads.ts', job);
  const before = cpuSeconds(pids);
  load.go();
  const { good, bad, perSecond } = await load.result;
  return { cpu: ((cpuSeconds(pids) - before) * 1e6) / good, bad, perSecond };
}
