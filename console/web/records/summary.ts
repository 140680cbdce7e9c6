import type { Field } from '../projects/structure.ts';
import { columnTypes, typeCan } from './field-types.ts';
import { columnOf } from './grid-columns.ts';
import type { StoredRecord } from './record-form.ts';
import { type RecordView, whereOf } from './record-view.ts';

/** Functions of `_aggregate_`; quantiles have their usual names. */
export const functionWords = {
  count: 'Count of records',
  sum: 'Sum',
  avg: 'Average',
  min: 'Minimum',
  max: 'Maximum',
  distinct: 'Distinct values',
  p50: 'Median',
  p95: '95th percentile',
  p99: '99th percentile',
} as const;

export type SummaryFunction = keyof typeof functionWords;

export interface SummaryValue {
  readonly of: SummaryFunction;
  /** Empty for a count. */
  readonly field: string;
}

/** How records are summarized. It is part of the URL, with the filters of the table. */
export interface Summary {
  readonly groups: readonly string[];
  /** A field with times or days; empty: not by time. */
  readonly time: string;
  readonly every: string;
  readonly zone: string;
  readonly values: readonly SummaryValue[];
}

const mostGroups = 2;
export const periods: Readonly<Record<string, string>> = {
  '1m': 'minute',
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
  '1mo': 'month',
  '1y': 'year',
};
/** Periods within a day, which has none of them without a time of day. */
export const shorterThanDays: readonly string[] = ['1m', '1h'];
/** Most requested rows: more do not fit into a chart. */
export const mostRows = 500;

export function summaryOfQuery(query: URLSearchParams, fields: readonly Field[]): Summary {
  const values = query.getAll('value').flatMap((text): SummaryValue[] => {
    const [, of = '', field = ''] = /^(\w+)(?:\.(.*))?$/s.exec(text) ?? [];
    return Object.hasOwn(functionWords, of) ? [{ of: of as SummaryFunction, field }] : [];
  });
  const time = query.get('time') ?? '';
  const every = query.get('every') ?? '';
  return {
    groups: [...new Set(query.getAll('by'))].filter((name) => name !== '').slice(0, mostGroups),
    time: timesOf(fields).includes(time) ? time : '',
    every: Object.hasOwn(periods, every) ? every : '1d',
    zone: query.get('zone') ?? 'UTC',
    values: values.length === 0 ? [{ of: 'count', field: '' }] : values,
  };
}

/** The fields that divide records into spans of time. */
export function timesOf(fields: readonly Field[]): readonly string[] {
  const own = fields.filter(({ type, hashed }) => typeCan(type, 'bucketed') && !hashed);
  return ['createdAt', 'updatedAt', ...own.map(({ name }) => name)];
}

/** Whether a field that divides records has a time of day, and so depends on a time zone. */
export function hasZone(time: string, fields: readonly Field[]): boolean {
  const column = columnOf(time, fields);
  return column !== undefined && columnTypes[column.type].hasClock === true;
}

/** Replaces the summary in a query. */
export function withSummary(query: URLSearchParams, { groups, time, every, zone, values }: Summary): string {
  const next = new URLSearchParams(query);
  for (const key of ['by', 'time', 'every', 'zone', 'value']) next.delete(key);
  for (const name of groups) next.append('by', name);
  if (time !== '') for (const [key, value] of Object.entries({ time, every, zone })) next.set(key, value);
  for (const { of, field } of values) next.append('value', field === '' ? of : `${of}.${field}`);
  return next.toString();
}

const numeric: readonly SummaryFunction[] = ['sum', 'avg', 'p50', 'p95', 'p99'];

/** The fields to which a function applies. */
export function fieldsOf(of: SummaryFunction, fields: readonly Field[]): readonly string[] {
  if (of === 'count') return [];
  const readable = fields.filter(({ hashed }) => !hashed);
  if (of === 'distinct') return readable.map(({ name }) => name);
  const own = readable.filter(({ type }) => typeCan(type, numeric.includes(of) ? 'summed' : 'ordered'));
  const names = own.map(({ name }) => name);
  return numeric.includes(of) ? names : [...names, 'createdAt', 'updatedAt'];
}

/** Problems of its parts, by their text in the address. */
export function summaryProblems(
  { groups, values }: Summary,
  fields: readonly Field[],
): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const name of groups)
    if (columnOf(name, fields) === undefined) problems.set(name, 'This field no longer exists.');
  for (const { of, field } of values) {
    if (of === 'count' || fieldsOf(of, fields).includes(field)) continue;
    problems.set(
      `${of}.${field}`,
      field === '' ? 'Choose a field.' : `There is no ${functionWords[of].toLowerCase()} of this field.`,
    );
  }
  return problems;
}

/** The unique names of values in responses, in order. */
export function valueNames({ groups, time, values }: Summary): readonly string[] {
  const names: string[] = [];
  for (const { of, field } of values) {
    let name = field === '' ? of : `${of} of ${field}`;
    while ([...groups, time, ...names].includes(name)) name += ' ';
    names.push(name);
  }
  return names;
}

const levels: Readonly<Record<string, number>> = { p50: 0.5, p95: 0.95, p99: 0.99 };

/**
 * The body of `_aggregate_`. Sorted by time, newest first, else largest first. Throws a Problem for an invalid filter.
 */
export function summaryBody(summary: Summary, view: RecordView, fields: readonly Field[]): object {
  const { groups, time, every, zone, values } = summary;
  const names = valueNames(summary);
  const where = whereOf(view, fields);
  const bucket = { bucket: time, every, timeZone: hasZone(time, fields) ? zone : undefined, fill: true };
  const by = time === '' ? names[0] : time;
  return {
    ...(where.length === 0 ? {} : { where }),
    ...(time === '' && groups.length === 0
      ? {}
      : {
          groupBy: [...(time === '' ? [] : [bucket]), ...groups],
          sort: [{ by, order: 'desc' }],
          limit: mostRows,
        }),
    values: Object.fromEntries(
      values.map(({ of, field }, at) => {
        const level = levels[of];
        return [
          names[at],
          of === 'count' ? 'count' : level === undefined ? { [of]: field } : { quantile: [field, level] },
        ];
      }),
    ),
  };
}

export interface SummaryChart {
  /** Left to right. */
  readonly places: readonly string[];
  /** Names of the series, largest first. */
  readonly names: readonly string[];
  /** By value, series and place. */
  readonly figures: readonly (readonly (readonly number[])[])[];
  /** Number of series without a colour. */
  readonly left: number;
  /** Their sums, by value and place. */
  readonly others: readonly (readonly number[])[];
}

/** There are colours for this many. */
const mostSeries = 6;

/** The time, or else the first group, is the horizontal axis; the other groups are series. */
export function chartOf(
  rows: readonly StoredRecord[],
  summary: Summary,
  values: readonly string[],
): SummaryChart {
  const { groups, time } = summary;
  const [across = '', ...others] = [time, ...groups].filter((name) => name !== '');
  const placed = time === '' ? rows : [...rows].reverse();
  const places = [...new Set(placed.map((row) => groupText(row[across])))];
  const at = new Map(places.map((place, index) => [place, index]));
  const series = new Map<string, number[][]>();
  for (const row of placed) {
    const name = others.map((other) => groupText(row[other])).join(', ');
    const figures = series.get(name) ?? values.map(() => places.map(() => 0));
    for (const [index, value] of values.entries()) {
      const [figure, place] = [figureOf(row[value], value, summary), at.get(groupText(row[across]))];
      if (figure !== null && place !== undefined) (figures[index] ?? [])[place] = figure;
    }
    series.set(name, figures);
  }
  const size = (figures: readonly number[] = []): number =>
    figures.reduce((sum, figure) => sum + Math.abs(figure), 0);
  const sorted = [...series].sort(([, one], [, other]) => size(other[0]) - size(one[0]));
  const largest = sorted.slice(0, mostSeries);
  const left = sorted.slice(mostSeries);
  const total = (index: number, place: number): number =>
    left.reduce((sum, [, figures]) => sum + (figures[index]?.[place] ?? 0), 0);
  return {
    places,
    names: largest.map(([name]) => name),
    figures: values.map((_, index) => largest.map(([, figures]) => figures[index] ?? [])),
    left: left.length,
    others: values.map((_, index) => places.map((_, place) => total(index, place))),
  };
}

/** The number to draw; null: none. Sums and averages of exact numbers are strings. @param name of the value in `row` */
export function figureOf(value: unknown, name: string, summary: Summary): number | null {
  if (typeof value === 'number') return value;
  const of = summary.values[valueNames(summary).indexOf(name)]?.of;
  return typeof value === 'string' && of !== undefined && numeric.includes(of) ? Number(value) : null;
}

/** The label of a group; records without a value are a group too. */
export function groupText(value: unknown): string {
  if (value === null || value === undefined) return 'no value';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The label of a bucket: its first moment, at the precision of the period. */
export function bucketText(value: unknown, every: string): string {
  const text = groupText(value);
  if (!/^\d{4}-/.test(text)) return text;
  if (/^1[mh]$/.test(every)) return text.slice(0, 16).replace('T', ' ');
  return text.slice(0, every === '1y' ? 4 : every === '1mo' ? 7 : 10);
}
