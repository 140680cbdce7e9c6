/** The use of one project on one day (UTC). */
export interface UsageDay {
  readonly date: string;
  readonly project: string;
  readonly requests: number;
  readonly bytesIn: number;
  readonly files: number;
  readonly bytesStored: number;
  readonly recordsWritten: number;
}

export type Measure = Exclude<keyof UsageDay, 'date' | 'project'>;

const dayMs = 86_400_000;

/** The last days up to today, in UTC as the server counts them. */
export function lastDays(count: number, now = Date.now()): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(now - (count - 1 - index) * dayMs).toISOString().slice(0, 10),
  );
}

export interface Series {
  readonly project: string;
  /** A value for each day. */
  readonly values: readonly number[];
  readonly total: number;
}

/** There are colours for this many; the rest are one series. */
const mostSeries = 6;
export const others = 'Other projects';

/** A measure by project, largest first. */
export function seriesOf(
  days: readonly UsageDay[],
  dates: readonly string[],
  measure: Measure,
): readonly Series[] {
  const positions = new Map(dates.map((date, index) => [date, index]));
  const byProject = new Map<string, number[]>();
  for (const day of days) {
    const position = positions.get(day.date);
    if (position === undefined) continue;
    const values = byProject.get(day.project) ?? dates.map(() => 0);
    values[position] = (values[position] ?? 0) + Number(day[measure]);
    byProject.set(day.project, values);
  }
  const all = [...byProject]
    .map(([project, values]) => ({ project, values, total: sum(values) }))
    .filter(({ total }) => total !== 0)
    .sort((one, other) => other.total - one.total || (one.project < other.project ? -1 : 1));
  if (all.length <= mostSeries) return all;
  const rest = all.slice(mostSeries - 1);
  const values = dates.map((_, index) => sum(rest.map((series) => series.values[index] ?? 0)));
  return [...all.slice(0, mostSeries - 1), { project: others, values, total: sum(values) }];
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A round number at or above the largest. Its half is a whole number too. */
export function niceTop(largest: number): number {
  if (largest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  const step = [1, 2, 4, 6, 8, 10].find((factor) => factor * power >= largest) ?? 10;
  return step * power;
}
