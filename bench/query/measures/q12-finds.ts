import { median } from '../../upload/harness/median.ts';
import { cpuSeconds } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import {
  makeTemporaryDirectory,
  removeTemporaryDirectory,
} from '../../upload/harness/temporary-directory.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { startService } from '../direct-store.ts';
import type { RequestKind } from '../requests.ts';
import { startServedEngine } from '../subject/served-engine.ts';
import { fillSpace } from '../subject/sluice-store.ts';
import { type LoadFigures, load, type QueryBench, type QueryMeasure } from './query-bench.ts';

/** Records for each of these measures. */
const records = 100_000;

interface FindCase {
  readonly what: string;
  readonly kind: RequestKind;
  readonly connections?: number;
  /** Requests a second; with one connection, milliseconds of the median. */
  readonly first: number;
  readonly aim: number;
  /** Results of peers on such a machine, in a separate run (shared/tools/peers). */
  readonly peers: string;
}

/** Rounds of one kind of request after a warm-up, and what they have in common. */
async function inRounds<T extends LoadFigures>(
  rounds: number,
  run: () => Promise<T>,
): Promise<{ runs: T[]; middle: (of: (run: T) => number) => number; problems: string[] }> {
  const runs: T[] = [];
  for (let round = 0; round <= rounds; round++) {
    const result = await run();
    if (round > 0) runs.push(result);
  }
  const bad = runs.reduce((sum, run) => sum + run.bad, 0);
  const problems = bad === 0 ? [] : [`${bad} answers that are not 200`];
  return { runs, middle: (of) => median(runs.map(of)), problems };
}

/** No request repeats an earlier one. */
async function rates(
  { store, rounds, seconds }: QueryBench,
  measure: string,
  wanted: readonly FindCase[],
  rows = records,
): Promise<Finding[]> {
  const made = await store(rows);
  const child = await made.start();
  const findings: Finding[] = [];
  try {
    for (const { what, kind, connections, first, aim, peers } of wanted) {
      const job = { kind, seconds, ids: made.ids, ...(connections !== undefined && { connections }) };
      const { runs, middle, problems } = await inRounds(rounds, async () => {
        const result = await load(child, job);
        progress(`${measure}: ${what}: ${Math.round(result.perSecond)}/s`);
        return result;
      });
      const alone = connections === 1;
      const value = middle((run) => (alone ? run.p50 : run.perSecond));
      findings.push({
        measure,
        what,
        value,
        baseline: peers,
        subject: `${Math.round(middle(({ cpuMicroseconds }) => cpuMicroseconds))} us of CPU a request`,
        goal: alone
          ? { bound: 'at most', first, aim, unit: ' ms' }
          : { bound: 'at least', first, aim, unit: '/s' },
        shown: alone ? `${value.toFixed(1)} ms` : `${Math.round(value)}/s`,
        problems,
        details: { runs },
      });
    }
  } finally {
    await child.stop();
  }
  return findings;
}

/** How fast is a new find by two fields that are not unique? */
export const q12: QueryMeasure = {
  id: 'Q12',
  run: (bench) =>
    rates(bench, 'Q12', [
      {
        what: 'find by two fields, each asked once',
        kind: 'findByTwo',
        first: 12_700,
        aim: 25_000,
        peers: 'PocketBase 4,241/s, Parse Server 1,639/s',
      },
      {
        what: 'the same, one caller, p50',
        kind: 'findByTwo',
        connections: 1,
        first: 1,
        aim: 0.3,
        peers: '-',
      },
    ]),
};

/** How fast is it if one of ten requests updates a record of the same space? */
export const q13: QueryMeasure = {
  id: 'Q13',
  run: (bench) =>
    rates(bench, 'Q13', [
      {
        what: 'nine finds by two fields to one updateOneById',
        kind: 'findByTwoMixed',
        first: 12_100,
        aim: 25_000,
        peers: 'PocketBase 3,646 - 4,037/s, Parse Server 1,698/s',
      },
    ]),
};

/** How fast is a page of 20 by one field, sorted by another, with and without inserts? */
export const q14: QueryMeasure = {
  id: 'Q14',
  run: (bench) =>
    rates(bench, 'Q14', [
      {
        what: 'a sorted page of 20, 4,500 pages',
        kind: 'page',
        first: 3000,
        aim: 10_000,
        peers: 'Parse Server 933/s, PocketBase 107 - 114/s',
      },
      {
        what: 'nine such pages to one insertOne',
        kind: 'pageMixed',
        first: 2500,
        aim: 5000,
        peers: 'Parse Server 840/s, PocketBase 125/s',
      },
    ]),
};

/** How fast are new finds by ranges, prefixes and long lists? */
export const filters: QueryMeasure = {
  id: 'FILTERS',
  run: (bench) =>
    rates(bench, 'FILTERS', [
      { what: '20 records between two numbers', kind: 'between', first: 5000, aim: 15_000, peers: '-' },
      {
        what: 'nine of them to one updateOneById',
        kind: 'betweenMixed',
        first: 5000,
        aim: 15_000,
        peers: '-',
      },
      {
        what: '11 records by the beginning of a text',
        kind: 'startsWith',
        first: 5000,
        aim: 15_000,
        peers: '-',
      },
      {
        what: '10,000 ids by QUERY, one caller, p50',
        kind: 'inIds',
        connections: 1,
        first: 60,
        aim: 20,
        peers: '-',
      },
    ]),
};

/** How long do groups with an exact quantile take, and how many increments of one number are possible? */
export const q16: QueryMeasure = {
  id: 'Q16',
  async run(bench) {
    const groups = {
      what: `count, sum and p95 of 100 groups among ${bench.rows} records, one caller, p50`,
      kind: 'groups' as const,
      connections: 1,
      peers: '-',
      ...(bench.rows > 1_000_000 ? { first: 500, aim: 150 } : { first: 50, aim: 20 }),
    };
    const adds = { what: 'all add to one number', kind: 'increment' as const, first: 5000, aim: 15_000 };
    return [
      ...(await rates(bench, 'Q16', [groups], bench.rows)),
      ...(await rates(bench, 'Q16', [{ ...adds, peers: '-' }])),
    ];
  },
};

/** What do Q12 and Q14 cost an engine behind HTTP, for which the service keeps no rows in memory? */
export const q15: QueryMeasure = {
  id: 'Q15',
  async run({ rounds, seconds }) {
    const folder = makeTemporaryDirectory();
    const engine = await startServedEngine();
    const child = await startService(folder, { CLICKHOUSE_URL: engine.url }, { script: 'query/main.ts' });
    const findings: Finding[] = [];
    try {
      await fillSpace(child.ready, records);
      for (const [what, kind, first, aim] of [
        ['find by two fields, served', 'findByTwo', 0.5, 0.2],
        ['a sorted page of 20, served', 'page', 1.5, 0.7],
      ] as const) {
        const { runs, middle, problems } = await inRounds(rounds, async () => {
          const before = cpuSeconds([engine.pid]);
          const result = await load(child, { kind, seconds });
          const used = ((cpuSeconds([engine.pid]) - before) * 1000) / Math.max(1, result.good);
          progress(`Q15: ${what}: ${Math.round(result.perSecond)}/s, ${used.toFixed(2)} ms of engine`);
          return { ...result, engine: used };
        });
        const value = middle((run) => run.engine);
        findings.push({
          measure: 'Q15',
          what,
          value,
          baseline: '-',
          shown: `${value.toFixed(2)} ms of engine CPU`,
          subject: `${Math.round(middle(({ perSecond }) => perSecond))}/s, ${Math.round(middle(({ cpuMicroseconds }) => cpuMicroseconds))} us in the process`,
          goal: { bound: 'at most', first, aim, unit: ' ms' },
          problems,
          details: { runs },
        });
      }
    } finally {
      await child.stop();
      await engine.stop();
      removeTemporaryDirectory(folder);
    }
    return findings;
  },
};
