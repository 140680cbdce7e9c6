import { gibibyte, mebibyte } from '../harness/bytes.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { median } from '../harness/median.ts';
import { progress } from '../harness/progress.ts';
import type { ClaimedSizeJob, ClaimedSizeResult } from '../load/claimed-size.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Finding, Measure } from './measure.ts';
import { sendBurst } from './send-burst.ts';
import { withSubjects } from './with-subjects.ts';

/**
 * How soon does a client that announces 10 GiB get its 413 at a limit of 100 MB, and how much of the body does the server
 * read? The time is measured with a client that sends as fast as it can. The bytes are an upper bound, measured with
 * clients that send in steps of 64 KiB; see load/claimed-size.ts.
 */
export const u7: Measure = {
  id: 'U7',
  run: (bench) =>
    withSubjects(
      [() => startSluice({ ...bench, env: { MAX_UPLOAD_BYTES: '100000000' } })],
      async ([subject]): Promise<Finding[]> => {
        const sluice = subject as Subject;
        // a server that has just started would be timed at compiling its own code
        const { problems: warmUp } = await sendBurst(sluice, [{ index: 1, size: mebibyte }]);
        const job: ClaimedSizeJob = {
          target: sluice.target,
          claimedBytes: 10 * gibibyte,
          timed: bench.quick ? 5 : 50,
          counted: bench.quick ? 1 : 5,
        };
        const load = await prepareLoad<ClaimedSizeResult>('claimed-size.ts', job);
        load.go();
        const { times, readBytes, statuses } = await load.result;
        const other = statuses.filter((status) => status !== 413);
        const problems = [
          ...warmUp,
          ...(other.length > 0 ? [`answers other than 413: ${other.join(', ')}`] : []),
        ];
        const time = median(times);
        const most = Math.max(...readBytes);
        progress(
          `U7: 413 after ${time.toFixed(2)} ms, at most ${Math.max(...times).toFixed(2)} ms of ${times.length}; ` +
            `read at most ${most} bytes of ${readBytes.length}`,
        );
        return [
          {
            measure: 'U7',
            what: 'time to 413, 10 GiB announced',
            subject: `median of ${times.length}: ${time.toFixed(1)} ms, worst ${Math.max(...times).toFixed(1)} ms`,
            baseline: '',
            goal: { bound: 'below', first: 50, aim: 50, unit: ' ms' },
            value: time,
            shown: `${time.toFixed(1)} ms`,
            problems,
            details: { times },
          },
          {
            measure: 'U7',
            what: 'bytes read of the body',
            subject: `at most ${Math.round(most / 1024)} KiB, worst of ${readBytes.length}`,
            baseline: '',
            goal: { bound: 'below', first: 1, aim: 1, unit: ' MiB' },
            value: most / mebibyte,
            shown: `${(most / mebibyte).toFixed(2)} MiB`,
            problems,
            details: { readBytes },
          },
        ];
      },
    ),
};
