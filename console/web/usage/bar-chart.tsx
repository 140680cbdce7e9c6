import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { niceTop, type Series, sum } from './series.ts';

const height = 190;
const space = { top: 10, right: 4, bottom: 22, left: 52 };
const shownDay = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** The colour of all series without their own: the last in usage.css. */
export const otherColour = 6;

const dayText = (date: string): string => shownDay.format(new Date(date));

export interface BarChartProps {
  readonly title: string;
  /** From left to right. */
  readonly dates: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The colour of a project, the same in all charts. */
  readonly colour: (project: string) => number;
}

/** A legend, if there are several series. */
export function Legend(props: {
  readonly label: string;
  readonly names: readonly string[];
  readonly colour: (name: string) => number;
  readonly textOf?: (name: string) => string;
  /** More items. */
  readonly children?: ComponentChildren;
}): JSX.Element | null {
  const { label, names, colour, textOf = String, children } = props;
  if (names.length < 2) return null;
  return (
    <ul class="legend" aria-label={label}>
      {names.map((name) => (
        <li key={name}>
          <span class="swatch" style={{ background: `var(--series-${colour(name)})` }} />
          {textOf(name)}
        </li>
      ))}
      {children}
    </ul>
  );
}

export function ChartSkeletons({ count }: { readonly count: number }): JSX.Element {
  return (
    <div class="charts" aria-busy="true">
      {Array.from({ length: count }, (_, at) => (
        <div class="card chart waiting" key={at}>
          <Skeleton />
        </div>
      ))}
    </div>
  );
}

/** Stacked bars by day, with a table of the same figures below. */
export function BarChart(props: BarChartProps): JSX.Element {
  const { title, series, format } = props;
  const total = sum(series.map((one) => one.total));
  return (
    <figure class="card chart">
      <figcaption class="row apart">
        <h2>{title}</h2>
        <span class="chart-total">{format(total)}</span>
      </figcaption>
      <Bars {...props} title={`${title} by day`} />
      {total > 0 && (
        <details>
          <summary class="hint">As a table</summary>
          <FiguresTable {...props} />
        </details>
      )}
    </figure>
  );
}

interface BarsProps extends BarChartProps {
  /** The label below a bar. */
  readonly label?: (date: string) => string;
  /** Side by side, for values that can't be added. */
  readonly apart?: boolean;
}

/** Bars that begin at zero, of values of either sign. */
export function Bars(props: BarsProps): JSX.Element {
  const { title, dates, series, format, colour, label = dayText, apart = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const days = dates.map((date, day) => {
    const values = series.map((one) => one.values[day] ?? 0);
    const words = apart
      ? series.map((one, at) => `${one.project} ${format(values[at] ?? 0)}`.trim()).join(', ')
      : format(sum(values));
    return { title: `${label(date)}: ${words}`, ...barOf(values, apart) };
  });
  const top = niceTop(Math.max(0, ...days.map(({ above }) => above)));
  const least = Math.min(0, ...days.map(({ below }) => below));
  const bottom = least < 0 ? -niceTop(-least) : 0;
  const inner = {
    width: Math.max(0, width - space.left - space.right),
    height: height - space.top - space.bottom,
  };
  const step = inner.width / dates.length;
  const y = (value: number): number => space.top + (inner.height * (top - value)) / (top - bottom);
  return (
    <div class="chart-box" ref={box}>
      {width > 0 && (
        <svg
          role="img"
          aria-label={`${title}; the same figures are in the table below`}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
        >
          {(bottom < 0 ? [bottom, 0, top] : [0, top / 2, top]).map((value) => (
            <g key={value}>
              <line class="grid-line" x1={space.left} x2={width - space.right} y1={y(value)} y2={y(value)} />
              <text class="axis" x={space.left - 8} y={y(value) + 4} text-anchor="end">
                {value === 0.5 ? '' : format(value)}
              </text>
            </g>
          ))}
          {days.map((day, index) => (
            <Day
              key={dates[index]}
              {...day}
              {...{ step, apart, y }}
              x={space.left + index * step}
              colours={series.map((one) => colour(one.project))}
            />
          ))}
          {labelledDays(dates.length, inner.width).map((day) => (
            <text
              class="axis"
              key={day}
              x={space.left + (day + 0.5) * step}
              y={height - 6}
              text-anchor="middle"
            >
              {label(dates[day] ?? '')}
            </text>
          ))}
        </svg>
      )}
    </div>
  );
}

/** The segments of one bar: stacked, or each from zero. */
function barOf(values: readonly number[], apart: boolean) {
  let [above, below] = [0, 0];
  const parts = [...values.entries()].flatMap(([series, value]) => {
    if (value === 0) return [];
    const from = apart ? 0 : value > 0 ? above : below;
    const to = from + value;
    above = Math.max(above, to);
    below = Math.min(below, to);
    return [{ series, from, to }];
  });
  return { above, below, parts };
}

interface DayProps extends Pick<ReturnType<typeof barOf>, 'parts'> {
  readonly x: number;
  readonly step: number;
  readonly apart: boolean;
  readonly colours: readonly number[];
  readonly title: string;
  readonly y: (value: number) => number;
}

function Day({ x, step, parts, apart, colours, title, y }: DayProps): JSX.Element {
  const gap = Math.min(6, step * 0.25);
  const width = (step - gap) / (apart ? colours.length : 1);
  return (
    <g>
      <title>{title}</title>
      <rect class="day" x={x} y={space.top} width={step} height={height - space.top - space.bottom} />
      {parts.map(({ series, from, to }) => (
        <rect
          key={series}
          style={{ fill: `var(--series-${colours[series]})` }}
          x={x + gap / 2 + (apart ? series * width : 0)}
          y={Math.min(y(from), y(to))}
          width={Math.max(1, width)}
          // visible even if tiny
          height={Math.max(1, Math.abs(y(from) - y(to)))}
        />
      ))}
    </g>
  );
}

/** Indexes of the labelled days, as many as fit. */
function labelledDays(count: number, width: number): readonly number[] {
  const every = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(width / 64))));
  const days: number[] = [];
  for (let day = count - 1 - Math.floor(every / 2); day >= 0; day -= every) days.push(day);
  return days;
}

function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (box.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function FiguresTable({ title, dates, series, format }: BarChartProps): JSX.Element {
  const days = dates
    .map((date, index) => ({ date, index }))
    .filter(({ index }) => series.some((one) => one.values[index]));
  const columns: readonly Column<(typeof days)[number]>[] = [
    { label: 'Day', cell: ({ date }) => date },
    ...series.map(({ project, values }) => ({
      label: project,
      numeric: true,
      cell: ({ index }: { readonly index: number }) => format(values[index] ?? 0),
    })),
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
    <section class="scrolls" tabIndex={0} aria-label={`${title} as a table`}>
      <DataTable caption={title} columns={columns} rows={days.reverse()} rowKey={({ date }) => date} />
    </section>
  );
}
