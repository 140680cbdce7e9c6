import { startLibStorageOnUws, startUsualWay } from '../baselines/start-baseline.ts';
import { startSluice } from '../subject/start-sluice.ts';
import { type CpuFigures, compareCpu, cpuRatio, showCpu } from './compare-cpu.ts';
import type { Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

/**
 * How much CPU time does the gateway need for a GiB of a 512 MiB file, as a share of what the usual way needs for
 * the same bytes? The usual way checks no token and writes no row; Sluice does both. A second line shows the
 * usual way with only a faster HTTP server.
 */
export const u1: Measure = {
  id: 'U1',
  run: (bench) =>
    withSubjects(
      [() => startSluice(bench), () => startUsualWay(bench.sink), () => startLibStorageOnUws(bench.sink)],
      async (subjects) => {
        const { figures, problems } = await compareCpu('U1', bench, subjects);
        const [sluice, usualWay, onUws] = figures as [CpuFigures, CpuFigures, CpuFigures];
        const ratio = cpuRatio(sluice, usualWay);
        const onUwsRatio = cpuRatio(onUws, usualWay);
        return [
          {
            measure: 'U1',
            what: 'CPU time per GiB',
            subject: showCpu(sluice),
            baseline: showCpu(usualWay),
            goal: { bound: 'at most', first: 0.4, aim: 0.2, unit: '' },
            value: ratio,
            shown: ratio.toFixed(2),
            problems,
            details: { figures },
          },
          {
            measure: 'U1',
            what: 'the same, for comparison',
            subject: showCpu(onUws),
            baseline: showCpu(usualWay),
            goal: null,
            value: onUwsRatio,
            shown: onUwsRatio.toFixed(2),
            problems: [],
          },
        ];
      },
    ),
};
