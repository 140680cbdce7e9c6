import { startNginx } from '../baselines/nginx.ts';
import { startSluice } from '../subject/start-sluice.ts';
import { type CpuFigures, compareCpu, cpuRatio, showCpu } from './compare-cpu.ts';
import type { Finding, Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

const goal = { bound: 'at most', first: 4, aim: 1.6, unit: 'x' } as const;

/**
 * How far is the gateway from a proxy in C that only moves the bytes? nginx streams the body to the sink, unparsed,
 * without checksum, token or row; Sluice speaks S3 to the same sink.
 */
export const u2: Measure = {
  id: 'U2',
  async run(bench) {
    const nginx = await startNginx(bench.sink);
    if (nginx === null) return [notInstalled];
    return withSubjects([() => Promise.resolve(nginx), () => startSluice(bench)], async (subjects) => {
      const { figures, problems } = await compareCpu('U2', bench, subjects);
      const [proxy, sluice] = figures as [CpuFigures, CpuFigures];
      const ratio = cpuRatio(sluice, proxy);
      return [
        {
          measure: 'U2',
          what: 'CPU time per GiB',
          subject: showCpu(sluice),
          baseline: showCpu(proxy),
          goal,
          value: ratio,
          shown: `${ratio.toFixed(2)}x`,
          problems,
          details: { figures },
        },
      ];
    });
  },
};

const notInstalled: Finding = {
  measure: 'U2',
  what: 'CPU time per GiB',
  subject: '',
  baseline: 'nginx: not installed',
  goal,
  value: null,
  shown: '-',
  problems: [],
  remark: 'nginx is not installed; Debian: apt-get install nginx-light',
};
