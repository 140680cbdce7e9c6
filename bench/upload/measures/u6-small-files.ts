import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { formAround } from '#load/files/upload-form.ts';
import { startUsualWay } from '../baselines/start-baseline.ts';
import { kibibyte } from '../harness/bytes.ts';
import { type Sample, sampleOf } from '../harness/median.ts';
import { cpuSeconds } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import { settle } from '../harness/settle.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/temporary-directory.ts';
import { findAutocannon, runAutocannon } from '../load/run-autocannon.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

const size = 64 * kibibyte;
const connections = 32;
const goal = { bound: 'at least', first: 2, aim: 4, unit: 'x' } as const;

/**
 * How many files of 64 KiB a second go through 32 keep-alive connections, compared with the usual way? Sluice checks
 * a token and writes a durable row before it answers; the usual way does neither. autocannon and the sink share the
 * machine with both, so the JSON also has the CPU time per file.
 */
export const u6: Measure = {
  id: 'U6',
  async run(bench) {
    const autocannon = findAutocannon();
    if (autocannon === null) return [notInstalled];
    const directory = makeTemporaryDirectory();
    try {
      const file = smallFile();
      const { head, tail } = formAround('small.txt');
      const bodyFile = join(directory, 'body');
      await writeFile(bodyFile, Buffer.concat([head, file, tail]));
      return await withSubjects([() => startSluice(bench), () => startUsualWay(bench.sink)], (subjects) =>
        compare(bench, { subjects, autocannon, bodyFile, checksum: crc32(file) }),
      );
    } finally {
      removeTemporaryDirectory(directory);
    }
  },
};

/** autocannon reads a body as text, so the file is made of ASCII characters. */
function smallFile(): Buffer {
  return Buffer.from(randomBytes((size * 3) / 4).toString('base64'));
}

interface Setup {
  readonly subjects: readonly Subject[];
  readonly autocannon: string;
  readonly bodyFile: string;
  readonly checksum: number;
}

interface Figures {
  readonly name: string;
  readonly rates: number[];
  readonly cpuMilliseconds: number[];
  readonly p99: number[];
}

async function compare(bench: Bench, setup: Setup): Promise<Finding[]> {
  const seconds = bench.quick ? 2 : 10;
  const problems: string[] = [];
  const all: Figures[] = setup.subjects.map(({ name }) => ({
    name,
    rates: [],
    cpuMilliseconds: [],
    p99: [],
  }));
  for (let round = 0; round <= bench.rounds; round++) {
    for (const [index, subject] of setup.subjects.entries()) {
      const { name, rates, cpuMilliseconds, p99 } = all[index] as Figures;
      await bench.sink.forget();
      const cpuBefore = cpuSeconds(subject.pids);
      const result = await runAutocannon({ ...setup, target: subject.target, connections, seconds });
      const cpu = cpuSeconds(subject.pids) - cpuBefore;
      const files = result['2xx'];
      problems.push(...failures(name, result), ...(await storedWrong(bench, name, files, setup.checksum)));
      // round 0 warms up
      if (round === 0) continue;
      rates.push(files / result.duration);
      cpuMilliseconds.push((cpu * 1000) / files);
      p99.push(result.latency.p99);
      progress(
        `U6: round ${round} of ${bench.rounds}, ${name}: ${Math.round(files / result.duration)} files/s, ` +
          `${((cpu * 1000) / files).toFixed(2)} CPU ms a file, p99 ${result.latency.p99} ms`,
      );
    }
  }
  const [sluice, usualWay] = all.map(({ name, rates }) => ({ name, rate: sampleOf(rates) })) as [Rate, Rate];
  const value = sluice.rate.median / usualWay.rate.median;
  return [
    {
      measure: 'U6',
      what: 'files of 64 KiB a second',
      subject: showRate(sluice),
      baseline: showRate(usualWay),
      goal,
      value,
      shown: `${value.toFixed(2)}x`,
      problems,
      details: { seconds, connections, figures: all },
    },
  ];
}

interface Rate {
  readonly name: string;
  readonly rate: Sample;
}

function showRate({ name, rate }: Rate): string {
  return `${name}: ${Math.round(rate.median)}/s`;
}

function failures(name: string, result: { errors: number; timeouts: number; non2xx: number }): string[] {
  const { errors, timeouts, non2xx } = result;
  if (errors + timeouts + non2xx === 0) return [];
  return [`${name}: ${errors} errors, ${timeouts} timeouts, ${non2xx} answers that are not 200`];
}

/**
 * Every answer must have an object with the right bytes. autocannon stops in the middle of its last requests, so there may
 * be one more object for each connection.
 */
async function storedWrong(bench: Bench, name: string, answers: number, checksum: number): Promise<string[]> {
  // no sink behind the file system store, and so many files are not downloaded
  if (bench.store === 'fs' && name.startsWith('Sluice')) return [];
  // objects of the last requests must not count in the next round
  await settle();
  const { alike } = await bench.sink.report();
  const right = alike.find((group) => group.size === size && group.crc32 === checksum)?.count ?? 0;
  const wrong = alike.reduce((sum, { count }) => sum + count, 0) - right;
  const problems: string[] = [];
  if (wrong > 0) problems.push(`${name}: ${wrong} objects with other bytes than were sent`);
  if (right < answers || right > answers + connections) {
    problems.push(`${name}: ${right} objects for ${answers} answers`);
  }
  return problems;
}

const notInstalled: Finding = {
  measure: 'U6',
  what: 'files of 64 KiB a second',
  subject: '',
  baseline: '',
  goal,
  value: null,
  shown: '-',
  problems: [],
  remark: 'autocannon is not installed: npm install',
};
