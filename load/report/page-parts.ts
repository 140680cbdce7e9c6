import type { RunResult, Totals } from '../run/result.ts';
import { describeLive } from './describe-live.ts';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatLatency,
  formatNumber,
  formatShare,
  formatTime,
  nothingChosen,
} from './format.ts';
import { type Html, html } from './html.ts';
import { table } from './table.ts';

/** The figures that a reader looks for first. */
export function tiles(run: RunResult): Html {
  const { totals, verified, capacity, cost } = run;
  const { latency, serviceTime } = totals;
  const ended = endedOf(totals);
  const time = (value: number): string => formatLatency(value, totals);
  const all: readonly (readonly [string, string, string, ('bad' | 'good')?])[] = [
    ['Good requests', `${formatNumber(totals.perSecond)}/s`, `${formatCount(totals.good)} in all`],
    ['p50', time(latency.p50), `${time(serviceTime.p50)} from the real start`],
    ['p99', time(latency.p99), `${time(serviceTime.p99)} from the real start`],
    ['max', time(latency.max), `${time(serviceTime.max)} from the real start`],
    [
      'Failed',
      formatShare(totals.failed / Math.max(1, ended)),
      `${formatCount(totals.failed)} of ${formatCount(ended)}`,
      totals.failed > 0 ? 'bad' : 'good',
    ],
    ...(cost.target === null
      ? []
      : [['CPU of the target', cpuPerRequest(run, cost.target.cpu), 'a request'] as const]),
    ...(capacity === null
      ? []
      : [
          [
            'Capacity',
            capacity.rate === null ? 'none' : `${formatNumber(capacity.rate)}/s`,
            capacity.goal,
          ] as const,
        ]),
    ...(verified === null ? [] : [verifiedTile(verified)]),
  ];
  return html`<dl class="tiles">${all.map(
    ([name, value, more, look]) =>
      html`<div class="${look ?? ''}"><dt>${name}</dt><dd><span class="value">${value}</span><span class="more">${more}</span></dd></div>`,
  )}</dl>`;
}

/** Also those that could not start before their phase ended. */
function endedOf({ good, failed }: Totals): number {
  return good + failed;
}

function verifiedTile({ checked, wrong }: NonNullable<RunResult['verified']>) {
  if (checked === 0 && wrong.length === 0) return ['Verified', 'nothing', nothingChosen] as const;
  const value = wrong.length === 0 ? 'right' : `${formatCount(wrong.length)} wrong`;
  return [
    'Verified',
    value,
    `${formatCount(checked)} read again`,
    wrong.length === 0 ? 'good' : 'bad',
  ] as const;
}

export function warningsPart({ warnings }: RunResult): Html | null {
  if (warnings.length === 0) return null;
  return html`<section class="notice warn"><h2>Before you trust these figures</h2><ul>${warnings.map(
    (warning) => html`<li>${warning}</li>`,
  )}</ul></section>`;
}

export function verificationPart({ verified }: RunResult): Html | null {
  if (verified === null) return null;
  const { checked, bytes, wrong } = verified;
  if (checked === 0 && wrong.length === 0) return null;
  const read = `${formatCount(checked)} records and files, ${formatBytes(bytes)}, were read again and compared with the seed`;
  if (wrong.length === 0)
    return html`<section class="notice good"><h2>Verification</h2><p>${read}: all are as they were stored.</p></section>`;
  return html`<section class="notice bad"><h2>Verification</h2><p>${read}. What was wrong:</p><ul>${wrong.map(
    (sentence) => html`<li>${sentence}</li>`,
  )}</ul></section>`;
}

export function requestsPart({ requests, totals }: RunResult): Html {
  const rows = requests.map((request) => ({
    name: html`<bdi>${request.name}</bdi> ${request.kind !== request.name && html`<span class="quiet">${request.kind}</span>`}`,
    totals: request as Totals,
  }));
  if (requests.length > 1) rows.push({ name: html`all`, totals });
  return html`<section class="wide"><h2>Requests</h2>${table(
    'Requests',
    ['Request', 'Sent', 'Good', 'Failed', 'Good/s', 'p50', 'p90', 'p99', 'p99.9', 'max', 'Out', 'In'],
    rows.map((row) => [
      row.name,
      formatCount(row.totals.sent),
      formatCount(row.totals.good),
      failures(row.totals),
      formatNumber(row.totals.perSecond),
      ...percentiles(row.totals),
      formatBytes(row.totals.sentBytes),
      formatBytes(row.totals.receivedBytes),
    ]),
    { last: requests.length > 1 },
  )}</section>`;
}

function percentiles(totals: Totals): string[] {
  const { p50, p90, p99, p999, max } = totals.latency;
  return [p50, p90, p99, p999, max].map((value) => formatLatency(value, totals));
}

function failures({ failed }: Totals): Html | string {
  return failed === 0 ? '0' : html`<span class="missed">${formatCount(failed)}</span>`;
}

/** Refusals by code; null without any. */
export function codesPart({ totals, requests }: RunResult): Html | null {
  const codes = Object.entries(totals.codes).sort(([, one], [, other]) => other - one);
  if (codes.length === 0) return null;
  return html`<section><h2>Refusals by code</h2>${table(
    'Refusals by code',
    ['Code', 'Requests', 'Of all', 'Of which'],
    codes.map(([code, number]) => [
      html`<code>${code}</code>`,
      formatCount(number),
      formatShare(number / Math.max(1, endedOf(totals))),
      requests
        .filter(({ codes }) => Object.hasOwn(codes, code))
        .map(({ name, codes }) => `${name} ${formatCount(codes[code] ?? 0)}`)
        .join(', '),
    ]),
    { texts: [3] },
  )}</section>`;
}

export function phasesPart({ phases }: RunResult): Html | null {
  if (phases.length < 2) return null;
  return html`<section class="wide"><h2>Phases</h2>${table(
    'Phases',
    ['Phase', 'Lasted', 'By schedule', 'Good/s', 'Failed', 'p50', 'p99', 'max'],
    phases.map((phase) => [
      html`<bdi>${phase.name}</bdi>${!phase.counts && html` <span class="quiet">does not count</span>`}`,
      formatDuration(phase.seconds),
      phase.offeredRate === null ? '-' : `${formatNumber(phase.offeredRate)}/s`,
      formatNumber(phase.perSecond),
      failures(phase),
      ...[phase.latency.p50, phase.latency.p99, phase.latency.max].map((value) =>
        formatLatency(value, phase),
      ),
    ]),
  )}</section>`;
}

export function costPart(run: RunResult): Html {
  const { cost, live, totals } = run;
  const width = Object.keys(totals.codes).length === 0 && 'wide';
  const rows = [
    ...(cost.target === null
      ? []
      : [[html`target <span class="quiet">${cost.target.source}</span>`, cost.target] as const]),
    [html`tool`, cost.tool] as const,
  ];
  return html`<section class="${width}"><h2>Cost</h2>${table(
    'Cost',
    ['Process', 'CPU', 'CPU a request', 'Most memory'],
    rows.map(([name, { cpu, memory }]) => [
      name,
      formatDuration(cpu),
      cpuPerRequest(run, cpu),
      formatBytes(memory),
    ]),
  )}${live !== null && html`<p>${describeLive(live)}</p>`}</section>`;
}

/** The CPU of a run is that of all its phases. */
function cpuPerRequest({ phases }: RunResult, cpu: number): string {
  const sent = phases.reduce((sum, phase) => sum + phase.sent, 0);
  return sent === 0 ? '-' : formatTime((1000 * cpu) / sent);
}
