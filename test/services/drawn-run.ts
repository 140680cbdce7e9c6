import { build, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import type { Latency, RequestResult, RunResult, Totals, Window } from '../../load/run/result.ts';
import { randomFrom } from './random-from.ts';

/** What a run is drawn from. */
export interface RunOptions {
  readonly seed: number;
  /** Of the phase that counts; two seconds of warm-up come before. */
  readonly seconds?: number;
  readonly perSecond?: number;
  /** Median latency in milliseconds; p99 is eight times as much. */
  readonly p50?: number;
  /** Multiplies p99 alone. */
  readonly tail?: number;
  /** Share of requests. */
  readonly errors?: number;
  /** Standard deviation of a second's latency, as a share of it. */
  readonly noise?: number;
  /** How much a second is like the one before: 0 to 1. */
  readonly alike?: number;
  /** Standard deviation between runs, as a share. */
  readonly betweenRuns?: number;
  readonly changes?: Partial<RunResult>;
}

const defaults = {
  ...{ seconds: 60, perSecond: 1000, p50: 2, tail: 1, errors: 0.001 },
  ...{ noise: 0.1, alike: 0.5, betweenRuns: 0, changes: {} },
};
const warmUp = 2;

/** A run as it might have been, the same for the same options: its seconds are noisy, and alike where they are close. */
export function drawnRun(options: RunOptions): RunResult {
  const wanted = { ...defaults, ...options };
  const normal = normalFrom(wanted.seed);
  const windows = drawWindows(wanted, normal);
  const counted = windows.filter(({ phase }) => phase === 'load');
  const totals = totalsOf(counted, wanted);
  const finds = shareOf(totals, 0.9);
  const requests: RequestResult[] = [
    { ...finds, name: 'find', kind: 'find' },
    { ...shareOf(totals, 0.1), name: 'insert', kind: 'insert' },
  ];
  const phases = [
    { ...totals, ...sumsOf(windows.slice(0, warmUp)), name: 'warm-up', seconds: warmUp, counts: false },
    { ...totals, name: 'load', seconds: wanted.seconds, counts: true },
  ].map((phase) => ({ ...phase, offeredRate: wanted.perSecond }));
  return {
    version: 1,
    tool: 'sluice load 0.1.0, Node v24.0.0',
    machine: '2 x Example CPU, 8 GiB, Linux 6.12',
    mix: { name: 'records', seed: 7, text: '{ "name": "records" }' },
    target: { kind: 'sluice', url: 'http://127.0.0.1:8080' },
    began: '2026-01-31T12:00:00.000Z',
    seconds: wanted.seconds + warmUp,
    ...{ totals, requests, phases, windows },
    live: null,
    verified: null,
    cost: {
      tool: { cpu: 0.3 * windows.length, memory: 90e6 },
      target: { cpu: 0.8 * windows.length, memory: 400e6, source: 'pid 4711' },
    },
    warnings: [],
    capacity: null,
    ...wanted.changes,
  };
}

type Wanted = Required<RunOptions>;

function drawWindows(wanted: Wanted, normal: () => number): Window[] {
  const { perSecond, p50, tail, errors, noise, alike, betweenRuns } = wanted;
  const ofRun = Math.exp(betweenRuns * normal());
  let now = normal();
  return Array.from({ length: warmUp + wanted.seconds }, (_, at) => {
    now = alike * now + Math.sqrt(1 - alike ** 2) * normal();
    const slow = ofRun * Math.exp(noise * now);
    const sent = Math.round(perSecond + Math.sqrt(perSecond) * 0.1 * normal());
    const expected = errors * sent;
    const failed = Math.max(0, Math.round(expected + Math.sqrt(expected) * normal()));
    const p99 = p50 * 8 * tail * slow * Math.exp(noise * normal());
    return {
      ...{ at, phase: at < warmUp ? 'warm-up' : 'load', sent, failed, good: sent - failed },
      ...{ p50: p50 * slow, p90: p50 * slow * 3, p99, max: p99 * (2 + Math.abs(normal())) },
      toolCpu: 0.3 + 0.02 * normal(),
      targetCpu: 0.8 * slow,
      targetMemory: 300e6 + 1e6 * at,
      late: 0.4,
    };
  });
}

function totalsOf(windows: readonly Window[], { seed, p50, tail }: Wanted): Totals {
  return {
    ...sumsOf(windows),
    latency: latencyOf(seed, { p50, tail }),
    serviceTime: latencyOf(seed, { p50: p50 * 0.9, tail: tail * 0.6 }),
  };
}

function sumsOf(windows: readonly Window[]): Omit<Totals, 'latency' | 'serviceTime'> {
  const sum = (of: (window: Window) => number): number => windows.reduce((all, one) => all + of(one), 0);
  const [sent, good, failed] = [sum((w) => w.sent), sum((w) => w.good), sum((w) => w.failed)];
  return {
    ...{ sent, good, failed, perSecond: good / windows.length },
    ...{ sentBytes: sent * 310, receivedBytes: sent * 870 },
    codes: failed === 0 ? {} : { too_many_requests: Math.ceil(failed / 2), timeout: Math.floor(failed / 2) },
  };
}

/** A log-normal distribution with this median; p99 is 8 times the median and `tail`. */
function latencyOf(seed: number, { p50, tail }: { readonly p50: number; readonly tail: number }): Latency {
  const normal = normalFrom(seed);
  const histogram = build({ bitBucketSize: 32, numberOfSignificantValueDigits: 3 });
  const spread = Math.log(8 * tail) / 2.326;
  for (let n = 0; n < 5000; n++) histogram.recordValue(Math.ceil(1000 * p50 * Math.exp(spread * normal())));
  const at = (percent: number): number => histogram.getValueAtPercentile(percent) / 1000;
  return {
    ...{ p50: at(50), p90: at(90), p99: at(99), p999: at(99.9) },
    ...{ max: histogram.maxValue / 1000, mean: histogram.mean / 1000 },
    histogram: encodeIntoCompressedBase64(histogram),
  };
}

function shareOf(totals: Totals, share: number): Totals {
  const part = (value: number): number => Math.round(value * share);
  const [sent, failed] = [part(totals.sent), part(totals.failed)];
  const bytes = { sentBytes: part(totals.sentBytes), receivedBytes: part(totals.receivedBytes) };
  return { ...totals, ...bytes, sent, failed, good: sent - failed, perSecond: totals.perSecond * share };
}

/** Normally distributed numbers: Box and Muller. */
function normalFrom(seed: number): () => number {
  const random = randomFrom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
