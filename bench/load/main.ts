/**
 * Questions: how many requests can a load tool send with one core, and what p99 does it report of a server that stops for a
 * second in each ten? The truth of the second is known: of requests that come evenly, a tenth wait, between 0 and 1 s,
 * so the p99 is 0.9 s.
 *
 * `npm run bench -- load [--rounds N] [--seconds N] [--part sending|pauses] [--quick]`, twelve minutes. autocannon is a dependency; wrk and k6 are included
 * if they are on the PATH.
 *
 * A tool has core 0 and the server core 1 (taskset). The server answers without parsing, but it may still be the bottleneck, so
 * the requests of a whole core are those of a CPU second of the tool.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { startChild } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import { type Load, type Report, type Tool, tools } from './tools.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '8' },
    /** `sending` or `pauses`; both by default. */
    part: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
});
const rounds = values.quick ? 1 : Number(values.rounds);
const seconds = values.quick ? 2 : Number(values.seconds);
/** Whole periods of the server's pauses. */
const pausedSeconds = values.quick ? 10 : 20;
const pausedRate = 1000;
const connections = 32;

interface Run extends Report {
  /** CPU seconds of the tool. */
  readonly cpu: number;
}

interface Row {
  readonly tool: string;
  readonly how: string;
  readonly runs: readonly Run[];
}

const shown = (number: number): string => Math.round(number).toLocaleString('en');

/** CPU seconds of all children that have ended (proc(5), cutime and cstime). */
async function endedCpu(): Promise<number> {
  const stat = await readFile('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

async function runTool(tool: Tool, load: Load): Promise<Run | null> {
  const command = await tool.command(load);
  if (command === null) return null;
  const before = await endedCpu();
  const timeout = (load.seconds + 60) * 1000;
  const { stdout } = await promisify(execFile)('taskset', ['-c', '0', ...command], {
    maxBuffer: 2 ** 26,
    timeout,
  });
  const cpu = (await endedCpu()) - before;
  return { ...(await tool.reportOf(stdout, load)), cpu };
}

/** Runs all tools in turns. */
async function runAll(pause: number, load: Omit<Load, 'url' | 'folder'>, times: number): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-load-'));
  const runs = new Map<string, Run[]>();
  try {
    for (let round = 0; round < times; round++) {
      for (const tool of tools) {
        // a fresh one: each tool gets the pauses at the same moments
        const server = await startChild({
          command: 'taskset',
          args: ['-c', '1', process.execPath, '--import', 'tsx', 'bench/load/bare-server.ts', `${pause}`],
          ready: /listening on (\d+)/,
        });
        try {
          const run = await runTool(tool, { ...load, folder, url: `http://127.0.0.1:${server.ready}/` });
          if (run === null) continue;
          progress(`${tool.name}: ${JSON.stringify(run)}`);
          runs.set(tool.name, [...(runs.get(tool.name) ?? []), run]);
        } finally {
          await server.stop();
        }
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const how = load.rate === null ? `${load.connections} connections` : `${load.rate} a second`;
  return [...runs].map(([tool, runs]) => ({ tool, how, runs }));
}

async function compareSending(): Promise<void> {
  // a short run of each takes its start out of the figures
  const start = await runAll(0, { seconds: 1, rate: null, connections }, rounds);
  const closed = await runAll(0, { seconds, rate: null, connections }, rounds);
  process.stdout.write(
    '| tool | requests a second | of a whole core | CPU us a request |\n|---|---|---|---|\n',
  );
  for (const { tool, runs } of closed) {
    const short = start.find((row) => row.tool === tool)?.runs ?? [];
    const cpu = median(runs.map((run) => run.cpu)) - median(short.map((run) => run.cpu));
    const perCore =
      (median(runs.map((run) => run.requests)) - median(short.map((run) => run.requests))) / cpu;
    const perSecond = median(runs.map(({ requests }) => requests / seconds));
    process.stdout.write(
      `| ${tool} | ${shown(perSecond)} | ${shown(perCore)} | ${(1e6 / perCore).toFixed(1)} |\n`,
    );
  }
}

async function comparePauses(): Promise<void> {
  const paused = { seconds: pausedSeconds, connections };
  const rows = [
    ...(await runAll(1000, { ...paused, rate: null }, rounds)),
    ...(await runAll(1000, { ...paused, rate: pausedRate }, rounds)),
  ];
  process.stdout.write('\n| tool | how | p50, ms | p99, ms | not sent |\n|---|---|---|---|---|\n');
  process.stdout.write('| the truth | at an even rate | 0 | 900 | 0 |\n');
  for (const { tool, how, runs } of rows) {
    const of = (figure: keyof Run): number => median(runs.map((run) => run[figure]));
    const shownP50 = of('p50').toFixed(1);
    process.stdout.write(
      `| ${tool} | ${how} | ${shownP50} | ${shown(of('p99'))} | ${shown(of('dropped'))} |\n`,
    );
  }
}

if (values.part !== 'pauses') await compareSending();
if (values.part !== 'sending') await comparePauses();
process.stdout.write(`\n${machineLine(await describeMachine())}\n`);
