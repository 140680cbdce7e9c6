/** Measures the upload gateway. */
import { parseArgs } from 'node:util';
import { report, runMeasures } from './harness/report.ts';
import type { Measure } from './measures/measure.ts';
import { u1 } from './measures/u1-cpu-against-usual-way.ts';
import { u2 } from './measures/u2-cpu-against-nginx.ts';
import { u3 } from './measures/u3-memory-of-one-large-file.ts';
import { u4 } from './measures/u4-many-at-once.ts';
import { u5 } from './measures/u5-slow-beside-fast.ts';
import { u6 } from './measures/u6-small-files.ts';
import { u7 } from './measures/u7-too-large.ts';
import { u8 } from './measures/u8-round-trips.ts';
import { u9 } from './measures/u9-slow-store.ts';
import { u10 } from './measures/u10-small-downloads.ts';
import { u11 } from './measures/u11-tus-against-form.ts';
import { u12 } from './measures/u12-stalled-uploads.ts';
import { u13 } from './measures/u13-silent-uploads.ts';
import { u14 } from './measures/u14-direct-uploads.ts';
import { u15 } from './measures/u15-digest.ts';
import { startSink } from './sink/start-sink.ts';

const measures: readonly Measure[] = [u1, u2, u3, u4, u5, u6, u7, u8, u9, u10, u11, u12, u13, u14, u15];

const usage = `npm run bench -- upload [--only U1,U6] [--rounds N] [--quick] [--store s3|fs]

  --only    the measures to run, all unless given
  --rounds  rounds of each comparison, of which the median is taken (5; 1 with --quick)
  --quick   small sizes: shows that everything works, measures nothing
  --store   what Sluice stores in (s3)
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      store: { type: 'string', default: 's3' },
    },
  });
  const { quick, store } = values;
  const known = measures.map(({ id }) => id);
  const only = values.only?.split(',').map((id) => id.trim().toUpperCase()) ?? known;
  const unknown = only.filter((id) => !known.includes(id));
  if (unknown.length > 0)
    throw new Error(`--only: there is no ${unknown.join(', ')}, only ${known.join(', ')}`);
  const rounds = Number(values.rounds ?? (quick ? 1 : 5));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds should be a whole number from 1');
  if (store !== 's3' && store !== 'fs') throw new Error('--store should be s3 or fs');
  return { only, rounds, quick, store } as const;
}

report('upload', usage, async () => {
  const options = readOptions();
  const sink = await startSink();
  const findings = await runMeasures(
    measures
      .filter(({ id }) => options.only.includes(id))
      .map(({ id, run }) => ({
        id,
        async run() {
          await sink.forget();
          return run({ ...options, sink });
        },
      })),
  );
  if (!options.quick) return { options, findings };
  return {
    options,
    // goals do not apply to small sizes
    findings: findings.map((finding) => ({ ...finding, goal: null })),
    tables: ['--quick: small sizes, these figures say nothing about speed'],
  };
});
