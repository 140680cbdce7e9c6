import { mebibyte } from '../harness/bytes.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import { type CpuFigures, compareCpu, showCpu } from './compare-cpu.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

/**
 * What the SHA-256 of every file costs (DIGEST=sha-256): of a form, and of a tus upload in chunks of 8 MiB, which is
 * read from the store once more. On S3 only forms, because the sink stores no bytes.
 */
export const u15: Measure = {
  id: 'U15',
  run: async (bench) => [
    ...(await compare({ ...bench, store: 's3' }, ['form'])),
    ...(await compare({ ...bench, store: 'fs' }, ['form', 'tus'])),
  ],
};

function compare(bench: Bench, ways: readonly ('form' | 'tus')[]): Promise<Finding[]> {
  const starts = [{}, { DIGEST: 'sha-256' }].map((env) => () => startSluice({ ...bench, env }));
  return withSubjects(starts, async (servers) => {
    const subjects = ways.flatMap((way) =>
      servers.map((server, index) => ({
        ...server,
        name: index === 0 ? 'without' : 'with',
        target: way === 'form' ? server.target : asTus(server),
      })),
    );
    const { figures, problems } = await compareCpu('U15', bench, subjects);
    return ways.map((way, index) => {
      const [without, withDigest] = figures.slice(2 * index) as [CpuFigures, CpuFigures];
      const more = withDigest.cpuSecondsPerGiB.median - without.cpuSecondsPerGiB.median;
      return {
        measure: 'U15',
        what: `CPU time per GiB for SHA-256, ${way}, ${bench.store === 'fs' ? 'file system' : 'S3'}`,
        subject: showCpu(withDigest),
        baseline: showCpu(without),
        goal: { bound: 'at most', first: 0.45, aim: 0.3, unit: ' s/GiB' },
        value: more,
        shown: `+${more.toFixed(2)} s/GiB`,
        problems,
        details: { figures: [without, withDigest] },
      };
    });
  });
}

function asTus({ target }: Subject): Subject['target'] {
  return { ...target, path: '/_f_/bench/resumable', chunkBytes: 8 * mebibyte };
}
