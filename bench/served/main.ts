/**
 * Question: what does a request in the scaled mode cost the ClickHouse server and Sluice itself (goals Q18 - Q20)? One
 * server, one Redis, one query process and the load on one machine; a space of 8 fields, one of them unique. CPU time of
 * all threads, from /proc; medians of rounds.
 */
import { parseArgs } from 'node:util';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import { report } from '../upload/harness/report.ts';
import type { Finding } from '../upload/measures/measure.ts';
import { measureClient } from './client-baseline.ts';
import { Deployment, type Round } from './deployment.ts';
import { afterUpdates, arrays, goalFor, type Line, lines, throughSeveral } from './lines.ts';

const usage = `npm run bench -- served [--rows 100000,1000000] [--only find,insertOne] [--rounds N] [--seconds N] [--processes N]

  --rows       records of the space; 10000000 takes half an hour to fill (100000,1000000)
  --only       parts of the lines' names, or Q18, Q19, Q20
  --rounds     of which the median is taken (3)
  --seconds    of each round (5); a warm-up takes three times as long
  --processes  that insert at once, in the last line (4)
`;
const baseline = 'baseline: a find by two fields with @clickhouse/client, a statement each';
const callers = 64;

function readOptions() {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '100000,1000000' },
      only: { type: 'string', default: '' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '5' },
      processes: { type: 'string', default: '4' },
    },
  });
  return {
    rows: values.rows.split(',').map(Number),
    only: values.only.split(','),
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    processes: Number(values.processes),
  };
}

type Options = ReturnType<typeof readOptions>;

/** The lines for one size of the space, in Markdown, and how they compare with the goals. */
class Table {
  readonly cells: string[] = [];
  readonly findings: Finding[] = [];
  readonly #rows: number;
  readonly #options: Options;

  constructor(rows: number, options: Options) {
    this.#rows = rows;
    this.#options = options;
    this.cells.push(
      `| ${rows.toLocaleString('en')} records; 64 connections unless said | a second | p50, ms | engine, us | Sluice, us | new parts a second |`,
      '|---|---|---|---|---|---|',
    );
  }

  wants({ name, goals = [] }: Pick<Line, 'name' | 'goals'>): boolean {
    return this.#options.only.some((part) => name.includes(part) || goals.some(({ id }) => id === part));
  }

  /** Measures a line in rounds, after a warm-up for V8's compiler. */
  async add(line: Pick<Line, 'name' | 'goals'>, round: (seconds: number) => Promise<Round>): Promise<void> {
    const { rounds, seconds } = this.#options;
    const all: Round[] = [];
    await round(3 * seconds);
    while (all.length < rounds) {
      all.push(await round(seconds));
      progress(`${line.name}: ${Math.round(all.at(-1)?.perSecond ?? 0)}/s`);
    }
    this.#show(line, all);
  }

  #show({ name, goals = [] }: Pick<Line, 'name' | 'goals'>, rounds: readonly Round[]): void {
    const middle = (of: (round: Round) => number): number => median(rounds.map(of));
    const whole = (of: (round: Round) => number): string => Math.round(middle(of)).toLocaleString('en');
    const p50 = middle((round) => round.p50).toFixed(1);
    const [rate, engine, own] = [
      whole((one) => one.perSecond),
      whole((one) => one.engine),
      whole((one) => one.own),
    ];
    this.cells.push(`| ${[name, rate, p50, engine, own, whole(({ parts }) => parts)].join(' | ')} |`);
    const bad = rounds.reduce((sum, round) => sum + round.bad, 0);
    const problems = bad === 0 ? [] : [`${name}: ${bad} answers that are not 200`];
    for (const goal of goals) {
      const value = middle(goal.of);
      this.findings.push({
        measure: goal.id,
        what: `${name}, ${this.#rows.toLocaleString('en')} records: ${goal.what}`,
        subject: `${rate}/s`,
        baseline: '-',
        value,
        goal: goalFor(this.#rows, goal),
        shown: `${value.toFixed(goal.unit === ' ms' ? 1 : 0)}${goal.unit}`,
        problems,
        details: { rounds },
      });
    }
    if (goals.length === 0 && problems.length > 0)
      this.findings.push({ measure: '-', what: name, ...nothing, problems });
  }
}

const nothing = { subject: '', baseline: '', goal: null, value: null, shown: '-' };

async function measureAll(rows: number, options: Options): Promise<Table> {
  const table = new Table(rows, options);
  const deployment = await Deployment.open(rows);
  const add = (line: Line): Promise<void> =>
    table.add(line, (seconds) => deployment.measure(line.kind, line.connections ?? callers, seconds));
  try {
    if (table.wants({ name: baseline }))
      await table.add({ name: baseline }, (seconds) => measureClient(deployment, callers, seconds));
    for (const line of lines) if (table.wants(line)) await add(line);
    if (table.wants(afterUpdates)) {
      await deployment.ask('SYSTEM STOP MERGES');
      await deployment.updateTenth(rows);
      await add(afterUpdates);
      await deployment.ask('SYSTEM START MERGES');
    }
    for (const line of arrays) if (table.wants(line)) await add(line);
    const last = throughSeveral(options.processes);
    if (table.wants(last)) {
      await deployment.processes(options.processes);
      await add(last);
    }
  } finally {
    await deployment.close();
  }
  return table;
}

report('served', usage, async () => {
  const options = readOptions();
  const tables: Table[] = [];
  for (const rows of options.rows) tables.push(await measureAll(rows, options));
  return {
    options,
    tables: tables.map(({ cells }) => cells.join('\n')),
    findings: tables.flatMap(({ findings }) => findings),
  };
});
