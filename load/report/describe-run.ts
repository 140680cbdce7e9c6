import type { RunResult } from '../run/result.ts';
import { describeCapacity } from './describe-capacity.ts';
import { describeLive } from './describe-live.ts';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatLatency,
  formatNumber,
  nothingChosen,
  oneLine,
} from './format.ts';
import { textTable } from './text-table.ts';

/** What came of a run, as lines for a terminal. The page has the rest. */
export function describeRun(run: RunResult): string {
  const { requests, totals, capacity, verified, warnings } = run;
  const named = requests.length === 1 ? requests : [...requests, { ...totals, name: 'all' }];
  const lines = [
    `${run.mix.name} against ${run.target.url}: ${formatDuration(run.seconds)} that count`,
    '',
    ...textTable(
      ['request', 'good', 'failed', 'good/s', 'p50', 'p99', 'p99.9', 'max'],
      named.map(({ name, ...of }) => [
        ...[name, formatCount(of.good), formatCount(of.failed), formatNumber(of.perSecond)],
        ...[of.latency.p50, of.latency.p99, of.latency.p999, of.latency.max].map((value) =>
          formatLatency(value, of),
        ),
      ]),
    ),
    '',
    ...codeLines(run),
    ...costLines(run),
    ...(capacity === null ? [] : [`Capacity: ${describeCapacity(capacity)} The goal was ${capacity.goal}.`]),
    ...(verified === null ? [] : verifiedLines(verified)),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ];
  return `${lines.map(oneLine).join('\n').trimEnd()}\n`;
}

function codeLines({ totals }: RunResult): string[] {
  const codes = Object.entries(totals.codes).sort(([, one], [, other]) => other - one);
  if (codes.length === 0) return [];
  return [`Failed, by code: ${codes.map(([code, number]) => `${code} ${formatCount(number)}`).join(', ')}`];
}

function costLines({ cost, live }: RunResult): string[] {
  const { tool, target } = cost;
  const of = ({ cpu, memory }: { readonly cpu: number; readonly memory: number }): string =>
    `${formatDuration(cpu)} of CPU, ${formatBytes(memory)} of memory`;
  return [
    ...(target === null ? [] : [`The target took ${of(target)} (${target.source}).`]),
    `The tool took ${of(tool)}.`,
    ...(live === null ? [] : [describeLive(live)]),
  ];
}

function verifiedLines({ checked, bytes, wrong }: NonNullable<RunResult['verified']>): string[] {
  if (checked === 0 && wrong.length === 0) return [`Verified: nothing. ${nothingChosen}`];
  const read = `Verified: ${formatCount(checked)} records and files, ${formatBytes(bytes)}`;
  if (wrong.length === 0) return [`${read}: all are as they were stored.`];
  return [
    `${read}: ${formatCount(wrong.length)} are wrong.`,
    ...wrong.map((sentence) => `Wrong: ${sentence}`),
  ];
}
