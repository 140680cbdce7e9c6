import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import type { Latency } from './result.ts';

/** An hour. */
const longestMicroseconds = 3_600_000_000;

/** Of microseconds. Three digits are kept: a percentile is exact to 0.1 %. */
export function newHistogram(): Histogram {
  return build({
    bitBucketSize: 32,
    autoResize: false,
    lowestDiscernibleValue: 1,
    highestTrackableValue: longestMicroseconds,
    numberOfSignificantValueDigits: 3,
  });
}

/** What took longer counts as an hour. */
export function record(histogram: Histogram, microseconds: number): void {
  histogram.recordValue(Math.min(Math.max(microseconds, 1), longestMicroseconds));
}

export function decodeHistogram(base64: string): Histogram {
  return decodeFromCompressedBase64(base64, 32, false, longestMicroseconds);
}

/** Milliseconds at a percentile of 0 to 100; null when nothing was recorded. */
export function percentile(histogram: Histogram, percent: number): number | null {
  if (histogram.totalCount === 0) return null;
  const { maxValue } = histogram;
  // the end of the bucket that a percentile falls into may be above all values
  return (percent === 100 ? maxValue : Math.min(maxValue, histogram.getValueAtPercentile(percent))) / 1000;
}

/** The same of a list of times, in milliseconds; NaN if it is empty. */
export function percentileOf(milliseconds: readonly number[], percent: number): number {
  const histogram = newHistogram();
  for (const time of milliseconds) record(histogram, Math.round(time * 1000));
  return percentile(histogram, percent) ?? Number.NaN;
}

export function latencyOf(histogram: Histogram): Latency {
  const at = (percent: number): number => percentile(histogram, percent) ?? 0;
  return {
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p999: at(99.9),
    max: at(100),
    mean: histogram.totalCount === 0 ? 0 : histogram.mean / 1000,
    histogram: encodeIntoCompressedBase64(histogram),
  };
}
