import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform } from 'node:os';
import { join } from 'node:path';
import type { Mix } from '../mix/mix.ts';
import type { TargetAddress } from '../targets/target.ts';
import type { Collector } from './collector.ts';
import type { LoadRun } from './load-run.ts';
import type { LiveCounts } from './messages.ts';
import type { Capacity, Cost, LiveResult, RunResult, Verification } from './result.ts';
import { streamWarnings, warningsOf } from './warnings.ts';

/** What is known at the end of a run. */
interface FinishedRun {
  readonly mix: Mix;
  readonly text: string;
  readonly target: TargetAddress;
  readonly began: string;
  readonly load: LoadRun;
  readonly collector: Collector;
  readonly capacity: Capacity | null;
  readonly verified: Verification | null;
  readonly live: LiveCounts;
  readonly cost: Cost;
  /** What could not be done, as sentences. */
  readonly problems: readonly string[];
  readonly inFlight: number;
}

export function runResult(run: FinishedRun): RunResult {
  const { mix, text, target, began, load, collector, live, cost } = run;
  const counting = load.phases.filter(({ collected }) => collected.counts);
  const seconds = counting.reduce((sum, run) => sum + run.seconds, 0);
  return {
    version: 1,
    tool: `sluice load ${toolVersion()}`,
    machine: `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, ${platform()} ${arch()}, Node ${process.version}`,
    mix: { name: mix.name, seed: mix.seed, text },
    target: { kind: target.kind, url: withoutCredentials(target.url) },
    began,
    seconds,
    totals: collector.whole().totals(seconds),
    // streams are no requests that end
    requests: mix.requests
      .map(({ name, kind }, place) => ({
        name,
        kind,
        ...(collector.requests[place]?.totals(seconds) as RunResult['totals']),
      }))
      .filter(({ kind }) => kind !== 'live'),
    phases: load.phases.map(({ phase, seconds, collected }) => ({
      name: phase.name,
      seconds,
      counts: collected.counts,
      offeredRate: phase.rate === null ? null : (phase.rate + (phase.rateAtEnd ?? phase.rate)) / 2,
      ...collected.totals.totals(seconds),
    })),
    windows: collector.windows,
    live: live.streams > 0 ? liveResult(live, collector) : null,
    verified: run.verified,
    cost,
    warnings: [...warningsOf(collector, run.inFlight), ...streamWarnings(live), ...run.problems],
    capacity: run.capacity,
  };
}

function liveResult({ streams, events, lost }: LiveCounts, { delays }: Collector): LiveResult {
  return { streams, events, lost, delay: delays?.end() ?? null };
}

function withoutCredentials(text: string): string {
  const url = new URL(text);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}

/** Of the package: in a checkout, or compiled. */
function toolVersion(): string {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')).version;
}
