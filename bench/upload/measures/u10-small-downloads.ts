import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startNginxOn } from '../baselines/nginx.ts';
import { kibibyte } from '../harness/bytes.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { median, sampleOf } from '../harness/median.ts';
import { cpuSeconds } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/temporary-directory.ts';
import type { DownloadsJob, DownloadsResult } from '../load/downloads.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

const sizes = [2 * kibibyte, 64 * kibibyte];
const files = 100;
const connections = 32;
const goal = { bound: 'at most', first: 4, aim: 2, unit: 'x' } as const;

/**
 * What does the download of a thumbnail cost, compared with nginx with sendfile? Both serve the same files repeatedly;
 * Sluice uses its file system store. A hundred files of each size, so that no side benefits from a single one.
 */
export const u10: Measure = {
  id: 'U10',
  async run(bench) {
    const directory = makeTemporaryDirectory();
    try {
      const nginx = await startNginxOn(directory);
      if (nginx === null) return [notInstalled];
      const starts = [() => startSluice({ ...bench, store: 'fs' }), () => Promise.resolve(nginx)];
      return await withSubjects(starts, async (subjects) => {
        const findings: Finding[] = [];
        for (const size of sizes) findings.push(await compare(bench, { size, directory, subjects }));
        return findings;
      });
    } finally {
      removeTemporaryDirectory(directory);
    }
  },
};

async function compare(
  bench: Bench,
  setup: { readonly size: number; readonly directory: string; readonly subjects: readonly Subject[] },
): Promise<Finding> {
  const { size, directory, subjects } = setup;
  const [sluice, nginx] = subjects as [Subject, Subject];
  const contents = Array.from({ length: files }, () => randomBytes(size));
  const rounds = [
    { subject: sluice, paths: await upload(sluice, contents) },
    { subject: nginx, paths: await write(directory, contents) },
  ].map((one) => ({ ...one, microseconds: [] as number[], rates: [] as number[] }));
  const problems: string[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    for (const { subject, paths, microseconds, rates } of rounds) {
      const { baseUrl } = subject.target;
      const milliseconds = bench.quick || round === 0 ? 1000 : 5000;
      const job: DownloadsJob = { baseUrl, paths, size, connections, milliseconds };
      const load = await prepareLoad<DownloadsResult>('downloads.ts', job);
      const before = cpuSeconds(subject.pids);
      load.go();
      const { good, bad, perSecond } = await load.result;
      const cpu = ((cpuSeconds(subject.pids) - before) * 1e6) / good;
      if (bad > 0) problems.push(`${subject.name}: ${bad} connections failed`);
      // round 0 warms up
      if (round === 0) continue;
      microseconds.push(cpu);
      rates.push(perSecond);
      progress(
        `U10: ${size / kibibyte} KiB, round ${round} of ${bench.rounds}, ${subject.name}: ` +
          `${cpu.toFixed(1)} CPU us, ${Math.round(perSecond)}/s`,
      );
    }
  }
  const [ours, theirs] = rounds.map(({ subject, microseconds, rates }) => ({
    name: subject.name,
    microseconds: sampleOf(microseconds),
    rate: sampleOf(rates),
  })) as [Figures, Figures];
  const value = median(ours.microseconds.values) / median(theirs.microseconds.values);
  return {
    measure: 'U10',
    what: `CPU time of a download of ${size / kibibyte} KiB`,
    subject: show(ours),
    baseline: show(theirs),
    goal,
    value,
    shown: `${value.toFixed(2)}x`,
    problems,
    details: { connections, files, figures: [ours, theirs] },
  };
}

interface Figures {
  readonly name: string;
  readonly microseconds: ReturnType<typeof sampleOf>;
  readonly rate: ReturnType<typeof sampleOf>;
}

function show({ name, microseconds, rate }: Figures): string {
  return `${name}: ${microseconds.median.toFixed(1)} us, ${Math.round(rate.median)}/s`;
}

/** @returns the paths of the files */
async function upload({ target }: Subject, contents: readonly Buffer[]): Promise<string[]> {
  const paths: string[] = [];
  for (const content of contents) {
    const response = await fetch(`${target.baseUrl}/_f_/bench/thumbnail.jpg`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${target.token}`, 'content-type': 'image/jpeg' },
      body: content,
    });
    if (!response.ok) throw new Error(`an upload was answered with ${response.status}`);
    paths.push(new URL(((await response.json()) as { s3Link: string }).s3Link).pathname);
  }
  return paths;
}

async function write(directory: string, contents: readonly Buffer[]): Promise<string[]> {
  const size = contents[0]?.byteLength;
  await mkdir(join(directory, `${size}`));
  return Promise.all(
    contents.map(async (content, index) => {
      const path = `/${size}/${index}.jpg`;
      await writeFile(join(directory, path), content);
      return path;
    }),
  );
}

const notInstalled: Finding = {
  measure: 'U10',
  what: 'CPU time of a small download',
  subject: '',
  baseline: 'nginx: not installed',
  goal,
  value: null,
  shown: '-',
  problems: [],
  remark: 'nginx is not installed; Debian: apt-get install nginx-light',
};
