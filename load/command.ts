import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type RunOptions, run } from './main.ts';
import { describeRun } from './report/describe-run.ts';
import { createLiveLine } from './report/live-line.ts';
import { writePage } from './report/page.ts';
import { kindNames } from './targets/kinds.ts';
import type { TargetAddress } from './targets/target.ts';

/** @param command how the user runs it */
const helpOf = (command: string): string => `
Loads a server with a mix of requests, and says how long they took.

  ${command} MIX --target URL [OPTIONS]

  MIX               a file (docs/load-testing.md), or the name of a mix that ships: records, httparena, uploads,
                    live, mixed
  --target URL      the server
  --kind KIND       what it is: ${kindNames.join(', ')}; sluice by default
  --token TOKEN     its credential; without it SLUICE_TOKEN
  --option A=B      an option of the kind, such as project=load; several times
  --rate N          requests a second, whether or not earlier ones are answered
  --concurrency N   callers that send the next request once the last one is answered
  --capacity GOAL   the highest rate that meets a goal such as "p99 < 50ms, errors < 0.1 %"
  --seconds N       how long the phases last together; of a search for capacity, each rate
  --workers N       threads; one a core by default
  --seed N          instead of the mix's
  --timeout N       seconds until a request without an answer has failed; 30 by default
  --in-flight N     requests that may be under way at once; 2000 by default
  --verify SHARE    reads a share of what was stored again and compares it, as 1%
  --pid N           the target's process, whose CPU and memory the result shows; with --metrics URL a page
                    of Prometheus says them, and METRICS_TOKEN may be its token
  --json FILE       writes the result
  --page FILE       writes a page of it for browsers
  --cleanup         removes what the run made
  --quiet           prints no progress

Exit status: 0, 1 if it could not run, 2 if verification found something wrong. Ctrl-C ends a run with the result of what
ran; a second one ends it at once.
`;

/** The command `sluice load` (docs/load-testing.md). Sets the exit status. */
export async function runLoadCommand(command: string, args: readonly string[]): Promise<void> {
  try {
    await load(command, args);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`sluice load: ${error.message}\n`);
    process.exitCode = 1;
  }
}

async function load(command: string, args: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(args);
  if (values.help) {
    process.stdout.write(helpOf(command).trimStart());
    return;
  }
  const [mix, ...more] = positionals;
  if (mix === undefined || more.length > 0) throw new Error('name one mix; see --help');
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort(new Error('the run was ended'));
  };
  process.on('SIGINT', stop);
  const live = values.quiet ? null : createLiveLine(process.stderr);
  const result = await run({
    mix,
    target: targetOf(values),
    ...runOptionsOf(values),
    signal: stopping.signal,
    onProgress: (line) => live?.say(line),
    onWindow: (window) => live?.window(window),
  }).finally(() => {
    process.off('SIGINT', stop);
    live?.end();
  });
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(result, null, 2)}\n`);
  if (values.page !== undefined) await writeFile(values.page, writePage(result));
  process.stdout.write(describeRun(result));
  if ((result.verified?.wrong.length ?? 0) > 0) process.exitCode = 2;
}

type Values = ReturnType<typeof readArguments>['values'];

function readArguments(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      target: { type: 'string' },
      kind: { type: 'string', default: 'sluice' },
      token: { type: 'string' },
      option: { type: 'string', multiple: true, default: [] },
      rate: { type: 'string' },
      concurrency: { type: 'string' },
      capacity: { type: 'string' },
      seconds: { type: 'string' },
      workers: { type: 'string' },
      seed: { type: 'string' },
      timeout: { type: 'string' },
      'in-flight': { type: 'string' },
      verify: { type: 'string' },
      pid: { type: 'string' },
      metrics: { type: 'string' },
      json: { type: 'string' },
      page: { type: 'string' },
      cleanup: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
}

function targetOf({ target, kind, token, option }: Values): TargetAddress {
  if (target === undefined) throw new Error('--target is missing; see --help');
  if (!URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol))
    throw new Error(`--target is ${JSON.stringify(target)}, and must be an http:// or https:// address`);
  if (!kindNames.includes(kind as TargetAddress['kind']))
    throw new Error(`--kind is ${JSON.stringify(kind)}, and must be one of ${kindNames.join(', ')}`);
  const options = option.map((text) => {
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined) throw new Error(`--option is ${JSON.stringify(text)}, and must be name=value`);
    return [name, value] as const;
  });
  return {
    kind: kind as TargetAddress['kind'],
    url: target,
    credential: token ?? process.env.SLUICE_TOKEN ?? null,
    options: Object.fromEntries(options),
  };
}

function runOptionsOf(values: Values): Partial<RunOptions> {
  const { capacity, verify, cleanup } = values;
  const seconds = numberOf(values, 'seconds');
  const timeout = numberOf(values, 'timeout');
  const numbers = {
    rate: numberOf(values, 'rate'),
    concurrency: countOf(values, 'concurrency'),
    workers: countOf(values, 'workers'),
    seed: countOf(values, 'seed'),
    inFlight: countOf(values, 'in-flight'),
    timeout: timeout && timeout * 1000,
    seconds: capacity === undefined ? seconds : undefined,
  };
  return {
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)),
    ...(capacity === undefined ? {} : { capacity }),
    ...(capacity === undefined || seconds === undefined
      ? {}
      : { capacityTimes: { baseline: seconds / 2, step: seconds, confirmation: seconds * 6 } }),
    ...costOf(values),
    ...(verify === undefined ? {} : { verify: shareOf(verify) }),
    cleanup,
  };
}

function costOf(values: Values): Pick<RunOptions, 'cost'> {
  const { metrics } = values;
  const pid = countOf(values, 'pid');
  if (pid !== undefined && metrics !== undefined) throw new Error('give --pid or --metrics, not both');
  if (pid !== undefined) return { cost: { pid } };
  return metrics === undefined ? {} : { cost: { metrics, token: process.env.METRICS_TOKEN } };
}

function numberOf(values: Values, name: keyof Values): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!(number > 0 && number < 1e9))
    throw new Error(`--${name} is ${JSON.stringify(text)}, and must be a number above 0`);
  return number;
}

function countOf(values: Values, name: keyof Values): number | undefined {
  const number = numberOf(values, name);
  if (number !== undefined && !Number.isInteger(number)) throw new Error(`--${name} must be a whole number`);
  return number;
}

function shareOf(text: string): number {
  const [, amount, percent] = /^(\d+(?:\.\d+)?) ?(%?)$/.exec(text) ?? [];
  const share = Number(amount) / (percent === '%' ? 100 : 1);
  if (amount === undefined || share > 1)
    throw new Error(`--verify is ${JSON.stringify(text)}, and must be a share such as 1%`);
  return share;
}
