/**
 * Questions: what do record operations cost, compared with a bare HTTP server and with one engine query per request (goals
 * Q1 - Q16), and how many per second does a process answer, with its embedded engine, authentication and durability?
 *
 * Load and service share the machine. Every ratio is of medians of rounds that alternate in one run.
 */
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { report, runMeasures } from '../upload/harness/report.ts';
import { kinds, runKinds } from './kinds.ts';
import { cacheMemory } from './measures/cache-memory.ts';
import { q1 } from './measures/q1-cache-hit.ts';
import { q2 } from './measures/q2-distinct.ts';
import { q3 } from './measures/q3-long-list.ts';
import { q4 } from './measures/q4-slow-reader.ts';
import { q5, q10 } from './measures/q5-q10-writes.ts';
import { q6 } from './measures/q6-arrays.ts';
import { q7 } from './measures/q7-many-records.ts';
import { q8 } from './measures/q8-mixed.ts';
import { q9 } from './measures/q9-many-spaces.ts';
import { q11 } from './measures/q11-spaces.ts';
import { filters, q12, q13, q14, q15, q16 } from './measures/q12-finds.ts';
import { q17 } from './measures/q17-files.ts';
import { q22 } from './measures/q22-rules.ts';
import { q23 } from './measures/q23-live.ts';
import { createQueryBench, type QueryMeasure } from './measures/query-bench.ts';

const measures: readonly QueryMeasure[] = [
  q1,
  q2,
  q3,
  q4,
  q5,
  q6,
  q7,
  q8,
  q9,
  q10,
  q11,
  q12,
  q13,
  q14,
  q15,
  q16,
  q17,
  q22,
  q23,
  filters,
  cacheMemory,
];

const usage = `npm run bench -- query [--only Q1,Q5,find] [--long] [--rounds N] [--seconds N] [--rows N] [--root FOLDER]

  --only    measures (Q1 - Q17, Q22, Q23, FILTERS, MEMORY) and kinds (find, insertOne ...; "kinds" is all of them); absent: all but those that take long
  --long    Q7 (10,000,000 records), Q11 and MEMORY as well
  --rounds  rounds of each comparison, of which the median is taken (3)
  --seconds of each round (5)
  --rows    records of the space (1,000,000 for Q1 - Q10, Q16 and Q17; Q12 - Q15, FILTERS and kinds have 100,000)
  --root    another checkout for kinds, in turns when it is given twice
  --env     NAME=value for the process of kinds
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      long: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '5' },
      rows: { type: 'string' },
      root: { type: 'string', multiple: true, default: [repositoryRoot] },
      env: { type: 'string', multiple: true, default: [] },
    },
  });
  const { only, long, rows } = values;
  const wanted = only?.split(',');
  const known = [...measures.map(({ id }) => id), ...kinds.map(({ kind }) => kind), 'kinds'];
  const unknown = wanted?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`--only: there is no ${unknown.join()}, only ${known.join()}`);
  return {
    measures: measures.filter((measure) =>
      wanted === undefined ? long || measure.long !== true : wanted.includes(measure.id),
    ),
    kinds: kinds.filter(({ kind }) => wanted?.some((name) => name === 'kinds' || name === kind) ?? true),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    rows: rows === undefined ? undefined : Number(rows),
    roots: values.root,
    env: Object.fromEntries(values.env.map((pair) => pair.split('=') as [string, string])),
  };
}

report('query', usage, async () => {
  const options = readOptions();
  const kindRows = options.rows ?? 100_000;
  const { lines, results } =
    options.kinds.length === 0
      ? { lines: [], results: [] }
      : await runKinds({ ...options, chosen: options.kinds, rows: kindRows });
  const bench = createQueryBench({ ...options, rows: options.rows ?? 1_000_000 });
  const findings = await runMeasures(options.measures.map(({ id, run }) => ({ id, run: () => run(bench) })));
  await bench.close();
  return { options, findings, results, tables: lines.length === 0 ? [] : [lines.join('\n')] };
});
