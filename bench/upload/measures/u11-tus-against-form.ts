import { mebibyte } from '../harness/bytes.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import { type CpuFigures, compareCpu, cpuRatio, showCpu } from './compare-cpu.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

/** What a resumable upload costs, compared with a form with the same file: a request and a saved state for each 8 MiB. */
export const u11: Measure = {
  id: 'U11',
  run: async (bench) => [await compare({ ...bench, store: 'fs' }), await compare({ ...bench, store: 's3' })],
};

function compare(bench: Bench): Promise<Finding> {
  return withSubjects([() => startSluice(bench)], async ([form]) => {
    const { target } = form as Subject;
    const tus = {
      ...(form as Subject),
      name: 'tus',
      target: { ...target, path: '/_f_/bench/resumable', chunkBytes: 8 * mebibyte },
    };
    const { figures, problems } = await compareCpu('U11', bench, [
      tus,
      { ...(form as Subject), name: 'form' },
    ]);
    const [ofTus, ofForm] = figures as [CpuFigures, CpuFigures];
    const ratio = cpuRatio(ofTus, ofForm);
    return {
      measure: 'U11',
      what: `CPU time per GiB, chunks of 8 MiB, ${bench.store === 'fs' ? 'file system' : 'S3'}`,
      subject: showCpu(ofTus),
      baseline: showCpu(ofForm),
      goal: { bound: 'at most', first: 1.2, aim: 1.05, unit: 'x' },
      value: ratio,
      shown: `${ratio.toFixed(2)}x`,
      problems,
      details: { figures },
    };
  });
}
