import { mebibyte } from '../harness/bytes.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { sampleOf } from '../harness/median.ts';
import { progress } from '../harness/progress.ts';
import type { SlowJob, SlowResult } from '../load/slow-clients.ts';
import type { SteadyJob, SteadyResult } from '../load/steady.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

const most = 3;
/** The rate of mobile clients on a bad link. */
const slowBytesPerSecond = 10_000;

/**
 * Are the files of 500 clients at 10 KB/s all stored, and how much do they slow down 8 fast connections? The slow clients
 * must last longer than the measurement; otherwise the round is reported as a problem. Speeds depend on other work on the
 * machine, so each is compared with the mean of the speeds without slow clients just before and after it.
 */
export const u5: Measure = {
  id: 'U5',
  run: (bench) => withSubjects([() => startSluice(bench)], ([sluice]) => compare(bench, sluice as Subject)),
};

async function compare(bench: Bench, sluice: Subject) {
  const rounds = Math.min(bench.rounds, most);
  const sizes = bench.quick
    ? { clients: 50, seconds: 8, fast: 4, fastSize: 8 * mebibyte, fastSeconds: 2 }
    : { clients: 500, seconds: 30, fast: 8, fastSize: 64 * mebibyte, fastSeconds: 15 };
  const alone: number[] = [];
  const beside: number[] = [];
  const shares: number[] = [];
  const problems: string[] = [];
  let finished = 0;

  const fast = async (): Promise<SteadyResult> => {
    const job: SteadyJob = {
      target: sluice.target,
      connections: sizes.fast,
      size: sizes.fastSize,
      milliseconds: sizes.fastSeconds * 1000,
      firstIndex: 1,
    };
    const load = await prepareLoad<SteadyResult>('steady.ts', job);
    load.go();
    const result = await load.result;
    problems.push(...(await sluice.problems(result.uploads)));
    return result;
  };

  const slow = async () => {
    const job: SlowJob = {
      target: sluice.target,
      clients: sizes.clients,
      bytesPerSecond: slowBytesPerSecond,
      size: slowBytesPerSecond * sizes.seconds,
      firstIndex: 1000,
    };
    return prepareLoad<SlowResult>('slow-clients.ts', job);
  };

  progress('U5: warming up');
  await bench.sink.forget();
  await fast();
  alone.push((await fast()).bytesPerSecond);
  for (let round = 1; round <= rounds; round++) {
    const crowd = await slow();
    crowd.go();
    await crowd.reached('all sending');
    const during = await fast();
    beside.push(during.bytesPerSecond);
    const { uploads, firstSentAll } = await crowd.result;
    if (firstSentAll < during.ended) {
      problems.push(`the slow clients ended ${during.ended - firstSentAll} ms before the fast ones`);
    }
    finished += uploads.filter(({ problem }) => problem === null).length;
    problems.push(...(await sluice.problems(uploads)));
    await bench.sink.forget();
    const before = alone.at(-1) as number;
    const after = (await fast()).bytesPerSecond;
    alone.push(after);
    shares.push(during.bytesPerSecond / ((before + after) / 2));
    progress(
      `U5: round ${round} of ${rounds}: alone ${mebibytes(before)} and ${mebibytes(after)}, beside ${mebibytes(during.bytesPerSecond)}, ` +
        `${uploads.filter(({ problem }) => problem === null).length} of ${sizes.clients} slow uploads answered well`,
    );
  }
  const value = sampleOf(shares).median;
  return [
    {
      measure: 'U5',
      what: `${sizes.fast} fast clients beside ${sizes.clients} slow ones`,
      subject: `beside: ${mebibytes(sampleOf(beside).median)}; ${finished} of ${sizes.clients * rounds} slow ones stored`,
      baseline: `alone: ${mebibytes(sampleOf(alone).median)}`,
      goal: { bound: 'at least', first: 0.5, aim: 0.9, unit: '' } as const,
      value,
      shown: value.toFixed(2),
      problems,
      details: { sizes, alone: sampleOf(alone), beside: sampleOf(beside), shares: sampleOf(shares) },
    },
  ];
}

function mebibytes(bytesPerSecond: number): string {
  return `${Math.round(bytesPerSecond / mebibyte)} MiB/s`;
}
