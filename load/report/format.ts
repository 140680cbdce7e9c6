/** Figures as people read them: three digits, and a unit. */
import type { Totals } from '../run/result.ts';

/** A verification without anything to verify, which says nothing of the server. */
export const nothingChosen = 'The share was too small for what was stored.';

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function formatCount(value: number): string {
  return grouped.format(value);
}

/** Three digits, and all of those before the point. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 99.95) return grouped.format(value);
  if (size < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(3)));
}

/** @param value milliseconds */
export function formatTime(value: number): string {
  if (value < 0.9995) return `${formatNumber(value * 1000)} µs`;
  if (value < 999.5) return `${formatNumber(value)} ms`;
  return `${formatNumber(value / 1000)} s`;
}

/** A percentile of requests; of none there is none. @param value milliseconds */
export function formatLatency(value: number, { good, failed }: Pick<Totals, 'good' | 'failed'>): string {
  return good + failed === 0 ? '-' : formatTime(value);
}

/** @param value seconds */
export function formatDuration(value: number): string {
  if (value < 119.5) return `${formatNumber(value)} s`;
  const [minutes, seconds] = [Math.floor(value / 60), Math.round(value % 60)];
  return seconds === 0 ? `${minutes} min` : `${minutes} min ${seconds} s`;
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(value: number): string {
  const power = Math.min(binary.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${formatNumber(value / 1024 ** power)} ${binary[power]}`;
}

/** @param value a share: 1 is all */
export function formatShare(value: number): string {
  return `${formatNumber(value * 100)} %`;
}

/** A text of somebody else, on one line and without what a terminal would obey. */
export function oneLine(text: string): string {
  // control characters, and those that reverse the direction of what follows
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ');
}
