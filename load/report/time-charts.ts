import type { RunResult } from '../run/result.ts';
import { formatBytes, formatDuration, formatNumber, formatTime } from './format.ts';
import type { Band, Line, Look, Plot } from './plot.ts';
import { linearScale, logarithmicScale, type Scale, timeScale } from './scale.ts';
import { largest, mean, type Slice, thinnedWindows } from './thinned-windows.ts';

/** Slices of a chart at most. */
const mostSlices = 240;

interface Series {
  readonly name: string;
  readonly look: Look;
  /** Null: nothing is known. */
  readonly of: (slice: Slice) => number | null;
}

interface TimeChart {
  readonly name: string;
  /** What the y axis measures. */
  readonly caption: string;
  readonly series: readonly Series[];
  readonly scaleOf: (values: readonly number[]) => Scale;
  readonly label: (value: number) => string;
  /** Series that are stacked as areas, the lowest first, instead of lines. */
  readonly stacked?: readonly Series[];
}

/** What happened in each second: latency, throughput, CPU, and the target's memory where it is known. */
export function timeCharts(run: RunResult): Plot[] {
  const slices = thinnedWindows(run.windows, mostSlices);
  if (slices.length === 0) return [];
  const charts = [latencyChart, throughputChart(run), cpuChart];
  if (run.windows.some(({ targetMemory }) => targetMemory !== null)) charts.push(memoryChart);
  const bands = bandsOf(run);
  return charts.map((chart) => plotOf(chart, slices, bands));
}

const linear = (values: readonly number[]): Scale => linearScale(Math.max(...values));

const latencyChart: TimeChart = {
  name: 'Latency over time',
  caption: 'latency from the intended start, logarithmic',
  series: [
    { name: 'max', look: 'third', of: (slice) => largest(slice, ({ max }) => max) },
    { name: 'p99', look: 'second', of: (slice) => largest(slice, ({ p99 }) => p99) },
    { name: 'p50', look: 'first', of: (slice) => mean(slice, ({ p50 }) => p50) },
  ],
  // a microsecond at least, which a logarithm can show
  scaleOf: (values) => logarithmicScale(Math.max(1e-3, Math.min(...values)), Math.max(1e-3, ...values)),
  label: formatTime,
};

function throughputChart({ phases }: RunResult): TimeChart {
  const offered = new Map(phases.map(({ name, offeredRate }) => [name, offeredRate]));
  return {
    name: 'Throughput',
    caption: 'requests a second, by outcome',
    stacked: [
      { name: 'good', look: 'first', of: (slice) => mean(slice, ({ good }) => good) },
      { name: 'failed', look: 'bad', of: (slice) => mean(slice, ({ failed }) => failed) },
    ],
    series: [
      {
        name: 'by schedule',
        look: 'quiet',
        of: (slice) => mean(slice, ({ phase }) => offered.get(phase) ?? null),
      },
    ],
    scaleOf: linear,
    label: formatNumber,
  };
}

const cpuChart: TimeChart = {
  name: 'CPU',
  caption: 'cores',
  series: [
    { name: 'target', look: 'first', of: (slice) => mean(slice, ({ targetCpu }) => targetCpu) },
    { name: 'tool', look: 'second', of: (slice) => mean(slice, ({ toolCpu }) => toolCpu) },
  ],
  scaleOf: linear,
  label: formatNumber,
};

const memoryChart: TimeChart = {
  name: 'Memory of the target',
  caption: 'resident memory',
  series: [{ name: '', look: 'first', of: (slice) => largest(slice, ({ targetMemory }) => targetMemory) }],
  // ticks of a power of two
  scaleOf: (values) => {
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, ...values)) / 10);
    const { at, ticks } = linear(values.map((value) => value / unit));
    return { at: (value) => at(value / unit), ticks: ticks.map((tick) => tick * unit) };
  },
  label: formatBytes,
};

function plotOf(chart: TimeChart, slices: readonly Slice[], bands: readonly Band[]): Plot {
  const { name, caption, label, stacked = [] } = chart;
  const end = slices.at(-1)?.to ?? 1;
  const time = timeScale(end);
  const series = chart.series.filter(({ of }) => slices.some((slice) => of(slice) !== null));
  const values = slices.flatMap((slice) => [
    ...series.flatMap(({ of }) => of(slice) ?? []),
    ...(stacked.length === 0 ? [] : [stacked.reduce((sum, { of }) => sum + (of(slice) ?? 0), 0)]),
  ]);
  const scale = chart.scaleOf(values.length === 0 ? [1] : values);
  const middle = ({ from, to }: Slice): number => time.at((from + Math.min(to, end)) / 2);
  const lines: Line[] = series.map(({ name, look, of }) => ({
    ...{ name, look },
    points: slices.map((slice) => {
      const value = of(slice);
      return value === null ? null : [middle(slice), scale.at(Math.max(value, scale.ticks[0] ?? 0))];
    }),
  }));
  const length = (slices[0]?.to ?? 1) - (slices[0]?.from ?? 0);
  const all = [...series, ...stacked];
  return {
    name,
    summary: `${name} over ${formatDuration(end)}: ${all.map((one) => rangeOf(one, slices, label)).join('; ')}`,
    captions: {
      x:
        length === 1
          ? 'time since the start'
          : `time since the start; each point is ${length} s: ${merged(name)}`,
      y: caption,
    },
    x: time.ticks.map((tick) => ({ at: time.at(tick), label: tick === 0 ? '0' : formatDuration(tick) })),
    y: scale.ticks.map((tick) => ({ at: scale.at(tick), label: label(tick) })),
    bands: bands.map((band) => ({ ...band, from: time.at(band.from), to: time.at(Math.min(band.to, end)) })),
    areas: areasOf(stacked, slices, (slice, value) => [middle(slice), scale.at(value)]),
    lines,
    spots: slices.map((slice) => ({
      from: time.at(slice.from),
      to: time.at(Math.min(slice.to, end)),
      text: [
        `${slice.windows[0]?.phase ?? ''}, ${formatDuration(slice.from)}`,
        ...all.map(({ name: of, of: value }) => `${of || name} ${textOf(value(slice), label)}`),
      ].join('\n'),
    })),
  };
}

/** What a point stands for that is more than a second. */
function merged(chart: string): string {
  return chart === latencyChart.name
    ? 'the mean p50, the highest p99 and max'
    : 'their mean, of memory the most';
}

function areasOf(
  stacked: readonly Series[],
  slices: readonly Slice[],
  place: (slice: Slice, value: number) => readonly [number, number],
): NonNullable<Plot['areas']> {
  let below = slices.map(() => 0);
  return stacked
    .map(({ name, look, of }) => {
      const above = slices.map((slice, index) => (below[index] ?? 0) + (of(slice) ?? 0));
      const edge = (values: readonly number[]) =>
        slices.map((slice, index) => place(slice, values[index] ?? 0));
      const area = { name, look, upper: edge(above), lower: edge(below) };
      const isEmpty = above.every((value, index) => value === below[index]);
      below = above;
      return { area, isEmpty };
    })
    .filter(({ isEmpty }) => !isEmpty)
    .map(({ area }) => area);
}

/** The phases that windows name, one after the other. */
function bandsOf({ windows, phases }: RunResult): Band[] {
  const counts = new Map(phases.map((phase) => [phase.name, phase.counts]));
  const bands: { from: number; to: number; label: string; counts: boolean }[] = [];
  for (const { at, phase } of windows) {
    const last = bands.at(-1);
    if (last?.label === phase) last.to = at + 1;
    else bands.push({ from: at, to: at + 1, label: phase, counts: counts.get(phase) ?? true });
  }
  return bands;
}

function rangeOf({ name, of }: Series, slices: readonly Slice[], label: (value: number) => string): string {
  const values = slices.map(of).filter((value) => value !== null);
  if (values.length === 0) return `${name} unknown`;
  return `${name} ${label(Math.min(...values))} to ${label(Math.max(...values))}`.trimStart();
}

function textOf(value: number | null, label: (value: number) => string): string {
  return value === null ? 'unknown' : label(value);
}
