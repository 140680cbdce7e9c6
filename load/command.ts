import { access, constants, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runCompare } from './compare/run-compare.ts';
import { type RunOptions, run } from './main.ts';
import { checkRecordAddress, reachRecords, recordRun } from './record-run.ts';
import { describeRun } from './report/describe-run.ts';
import { createLiveLine } from './report/live-line.ts';
import { writePage } from './report/page.ts';
import { checkLimit, type LimitedName } from './run/limits.ts';
import type { RunResult } from './run/result.ts';
import { kindNames } from './targets/kinds.ts';
import type { TargetAddress } from './targets/target.ts';

/** @param command how the user runs it */
const helpOf = (command: string): string => `
Loads a server with a mix of requests, and says how long they took.

  ${command} MIX --target URL [OPTIONS]
  ${command} compare A B          which differences of two results are larger than noise; compare --help says more

  MIX               a file (docs/load-testing.md), or the name of a mix that ships: records, httparena, uploads,
                    live, mixed, and those of other servers, such as peers/two
  --target URL      the server
  --kind KIND       what it is: ${kindNames.join(', ')}; sluice by default
  --token TOKEN     its credential; without it SLUICE_TOKEN
  --option A=B      an option of the kind, such as project=load; several times
  --rate N          requests a second, whether or not earlier ones are answered
  --concurrency N   callers that send the next request once the last one is answered
  --capacity GOAL   the highest rate that meets a goal such as "p99 < 50ms, errors < 0.1 %"
  --seconds N       how long the phases last together, with the warm-up; of a search for capacity, each rate
  --workers N       threads; one a core by default
  --seed N          instead of the mix's
  --timeout N       seconds until a request without an answer has failed; 30 by default
  --in-flight N     requests that may be under way at once; 2000 by default
  --verify SHARE    reads a share of what was stored again and compares it, as 1%
  --pid N           the target's process, whose CPU and memory the result shows; with --metrics URL a page
                    of Prometheus says them, and METRICS_TOKEN may be its token
  --json FILE       writes the result
  --page FILE       writes a page of it for browsers
  --record URL      stores it as a record: http://HOST/PROJECT/SPACE, with the token in SLUICE_RECORD_TOKEN, or that of
                    the target if both are one server
  --cleanup         removes what the run made
  --quiet           prints no progress

Exit status: 0, 1 if it could not run, verify or keep its result, 2 if verification found something wrong.
Ctrl-C or SIGTERM ends a run with the result of what ran; a second one ends it at once.
`;

/** The command `sluice load` (docs/load-testing.md). Sets the exit status. */
export async function runLoadCommand(command: string, args: readonly string[]): Promise<void> {
  try {
    if (args[0] === 'compare') await runCompare(`${command} compare`, args.slice(1));
    else await load(command, args);
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
  const target = targetOf(values);
  const record = recordOf(values, target);
  await checkFiles(values);
  if (record !== null) await reachRecords(record.address);
  const stopping = stopOnSignals();
  const live = values.quiet ? null : createLiveLine(process.stderr);
  const result = await run({
    ...{ mix, target, ...runOptionsOf(values), signal: stopping.signal },
    onProgress: (line) => live?.say(line),
    onWindow: (window) => live?.window(window),
  }).finally(() => {
    stopping.end();
    live?.end();
  });
  process.stdout.write(describeRun(result));
  if ((result.verified?.wrong.length ?? 0) > 0) process.exitCode = 2;
  else if (values.verify !== undefined && shareOf(values.verify) > 0 && result.verified === null)
    process.exitCode = 1;
  await keep(result, values, record);
}

/** A signal that the first Ctrl-C, or SIGTERM, aborts; the second one ends the process. */
function stopOnSignals(): { readonly signal: AbortSignal; end(): void } {
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort(new Error('the run was ended'));
  };
  const names = ['SIGINT', 'SIGTERM'] as const;
  for (const name of names) process.on(name, stop);
  const end = (): void => {
    for (const name of names) process.off(name, stop);
  };
  return { signal: stopping.signal, end };
}

/** Writes the result where the options say. */
async function keep(result: RunResult, { json, page }: Values, record: RecordPlace | null): Promise<void> {
  if (json !== undefined) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
  if (page !== undefined) await writeFile(page, writePage(result));
  if (record === null) return;
  process.stdout.write(`Stored as ${await recordRun(record.address, record.token, result)}\n`);
}

interface RecordPlace {
  readonly address: string;
  readonly token: string;
}

/** Throws before the run what would lose its result after it. */
function recordOf({ record }: Values, target: TargetAddress): RecordPlace | null {
  if (record === undefined) return null;
  checkRecordAddress(record);
  // no other server is told the target's token
  const isTarget = target.kind === 'sluice' && new URL(target.url).origin === new URL(record).origin;
  const token = process.env.SLUICE_RECORD_TOKEN ?? (isTarget ? target.credential : null);
  if (token === null) throw new Error('--record needs an access token of its server in SLUICE_RECORD_TOKEN');
  return { address: record, token };
}

async function checkFiles({ json, page }: Values): Promise<void> {
  for (const [name, file] of Object.entries({ json, page })) {
    if (file === undefined) continue;
    await access(dirname(resolve(file)), constants.W_OK).catch((cause: unknown) => {
      throw new Error(`--${name} is ${JSON.stringify(file)}, whose folder can't be written to`, { cause });
    });
  }
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
      record: { type: 'string' },
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
  const numbers = {
    rate: numberOf(values, 'rate'),
    concurrency: numberOf(values, 'concurrency'),
    workers: numberOf(values, 'workers'),
    seed: numberOf(values, 'seed'),
    inFlight: numberOf(values, 'inFlight'),
    timeout: numberOf(values, 'timeout', 1000),
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
  const { metrics, pid } = values;
  if (pid !== undefined && metrics !== undefined) throw new Error('give --pid or --metrics, not both');
  if (pid !== undefined && !/^[1-9]\d{0,9}$/.test(pid))
    throw new Error(`--pid is ${JSON.stringify(pid)}, and must be the number of a process`);
  if (pid !== undefined) return { cost: { pid: Number(pid) } };
  if (metrics !== undefined && !URL.canParse(metrics))
    throw new Error(`--metrics is ${JSON.stringify(metrics)}, and must be an address`);
  return metrics === undefined ? {} : { cost: { metrics, token: process.env.METRICS_TOKEN } };
}

/** @param unit by which the library counts */
function numberOf(values: Values, name: LimitedName, unit = 1): number | undefined {
  const option = name === 'inFlight' ? 'in-flight' : name;
  const text = values[option];
  if (text === undefined) return undefined;
  const number = text.trim() === '' ? Number.NaN : Number(text) * unit;
  checkLimit(name, number, { shown: `--${option}`, given: JSON.stringify(text), unit });
  return number;
}

function shareOf(text: string): number {
  const [, amount, percent] = /^(\d+(?:\.\d+)?) ?(%?)$/.exec(text) ?? [];
  const share = Number(amount) / (percent === '%' ? 100 : 1);
  if (amount === undefined || share > 1)
    throw new Error(`--verify is ${JSON.stringify(text)}, and must be a share such as 1%`);
  return share;
}
