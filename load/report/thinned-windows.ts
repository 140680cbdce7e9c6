import type { Window } from '../run/result.ts';

/** Windows beside each other as one. */
export interface Slice {
  /** Seconds since the beginning. */
  readonly from: number;
  readonly to: number;
  readonly windows: readonly Window[];
}

/** The windows of a run as at most `most` slices of equal length, so that the page of an hour is not larger than that of a minute. */
export function thinnedWindows(windows: readonly Window[], most: number): Slice[] {
  const end = (windows.at(-1)?.at ?? 0) + 1;
  const length = Math.ceil(end / most);
  const slices = new Map<number, Window[]>();
  for (const window of windows) {
    const number = Math.floor(window.at / length);
    slices.set(number, [...(slices.get(number) ?? []), window]);
  }
  return [...slices].map(([number, of]) => ({
    from: number * length,
    to: (number + 1) * length,
    windows: of,
  }));
}

/** Null without a value. */
export function largest(slice: Slice, of: (window: Window) => number | null): number | null {
  return combined(slice, of, (values) => Math.max(...values));
}

export function mean(slice: Slice, of: (window: Window) => number | null): number | null {
  return combined(slice, of, (values) => values.reduce((sum, value) => sum + value, 0) / values.length);
}

function combined(
  { windows }: Slice,
  of: (window: Window) => number | null,
  by: (values: readonly number[]) => number,
): number | null {
  const values = windows.map(of).filter((value) => value !== null);
  return values.length === 0 ? null : by(values);
}
