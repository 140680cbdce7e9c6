import { decodeHistogram } from '../run/histogram.ts';
import type { RunResult } from '../run/result.ts';
import { formatCount, formatNumber, formatTime } from './format.ts';
import type { Plot } from './plot.ts';
import { logarithmicScale } from './scale.ts';

/** Places of the curve between one nine and the next. */
const stepsOfNine = 20;
const marks = [50, 90, 99, 99.9, 99.99, 99.999, 99.9999];

/**
 * Latency by percentile, from the intended and from the real start. The axis has one length for each nine, because the slowest
 * requests are what is asked for. Null when nothing was answered, or a histogram can't be read.
 */
export function percentileChart({ totals }: Pick<RunResult, 'totals'>): Plot | null {
  const intended = readHistogram(totals.latency.histogram);
  const real = readHistogram(totals.serviceTime.histogram);
  if (intended === null || real === null) return null;
  // behind the last answer there is nothing to know
  const nines = Math.max(1, Math.log10(intended.totalCount));
  // from 11 % on: the fastest few would stretch the other axis
  const places = Array.from({ length: Math.ceil(nines * stepsOfNine) }, (_, index) =>
    Math.min((index + 1) / stepsOfNine, nines),
  );
  const at = (place: number): number => place / nines;
  const curves = [
    { name: 'from the intended start', look: 'second', values: places.map(intended.at) },
    { name: 'from the real start', look: 'first', values: places.map(real.at) },
  ] as const;
  const all = curves.flatMap(({ values }) => values);
  const scale = logarithmicScale(Math.min(...all), Math.max(...all));
  const shown = marks
    .map((percent) => ({ percent, place: ninesOf(percent) }))
    .filter(({ place }) => place <= nines);
  return {
    name: 'Latency by percentile',
    summary: `Of ${formatCount(intended.totalCount)} requests ${shown
      .map(({ percent, place }) => `${percent} % took at most ${formatTime(intended.at(place))}`)
      .join('; ')}`,
    captions: { x: 'percent of the requests, one step a nine', y: 'latency, logarithmic' },
    x: shown.map(({ percent, place }) => ({ at: at(place), label: String(percent) })),
    y: scale.ticks.map((tick) => ({ at: scale.at(tick), label: formatTime(tick) })),
    lines: curves.map(({ name, look, values }) => ({
      ...{ name, look },
      points: places.map((place, index) => [at(place), scale.at(values[index] as number)] as const),
    })),
    spots: places.slice(1).map((place, index) => ({
      from: at(places[index] as number),
      to: at(place),
      text: `${percentText(place)} % of the requests:\n${formatTime(intended.at(place))} from the intended start\n${formatTime(real.at(place))} from the real start`,
    })),
  };
}

/** -log10 of what is left: 1 for 90 %, 2 for 99 %. */
function ninesOf(percent: number): number {
  return -Math.log10(1 - percent / 100);
}

function percentText(place: number): string {
  return `${100 - Number(formatNumber(100 * 10 ** -place))}`.slice(0, 9);
}

interface ReadHistogram {
  readonly totalCount: number;
  /** Milliseconds. @param place in nines */
  at(place: number): number;
}

function readHistogram(text: string): ReadHistogram | null {
  try {
    const histogram = decodeHistogram(text);
    if (histogram.totalCount === 0) return null;
    return {
      totalCount: histogram.totalCount,
      at: (place) => Math.max(1, histogram.getValueAtPercentile(100 * (1 - 10 ** -place))) / 1000,
    };
  } catch {
    return null;
  }
}
