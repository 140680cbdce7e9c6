import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { niceTop, type Series, sum } from './series.ts';

const height = 190;
const space = { top: 10, right: 4, bottom: 22, left: 52 };
const shownDay = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });

export interface BarChartProps {
  readonly title: string;
  readonly dates: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The colour of a project, the same in all pictures. */
  readonly colour: (project: string) => number;
}

/** Stacked bars, one a day; the same figures as a table below. */
export function BarChart({ title, dates, series, format, colour }: BarChartProps): JSX.Element {
  const total = sum(series.map((one) => one.total));
  return (
    <figure class="card chart">
      <figcaption class="row apart">
        <h2>{title}</h2>
        <span class="chart-total">{format(total)}</span>
      </figcaption>
      <Bars title={title} dates={dates} series={series} format={format} colour={colour} />
      {total > 0 && (
        <details>
          <summary>As a table</summary>
          <FiguresTable title={title} dates={dates} series={series} format={format} />
        </details>
      )}
    </figure>
  );
}

function Bars({ title, dates, series, format, colour }: BarChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const totals = dates.map((_, day) => sum(series.map((one) => one.values[day] ?? 0)));
  const top = niceTop(Math.max(0, ...totals));
  const inner = {
    width: Math.max(0, width - space.left - space.right),
    height: height - space.top - space.bottom,
  };
  const step = inner.width / dates.length;
  const y = (value: number): number => space.top + inner.height * (1 - value / top);
  return (
    <div class="chart-box" ref={box}>
      {width > 0 && (
        <svg
          role="img"
          aria-label={`${title} by day; the same figures are in the table below`}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
        >
          {[0, 0.5, 1].map((part) => (
            <g key={part}>
              <line
                class="grid-line"
                x1={space.left}
                x2={width - space.right}
                y1={y(top * part)}
                y2={y(top * part)}
              />
              <text class="axis" x={space.left - 8} y={y(top * part) + 4} text-anchor="end">
                {top === 1 && part === 0.5 ? '' : format(top * part)}
              </text>
            </g>
          ))}
          {dates.map((date, day) => (
            <Day
              key={date}
              x={space.left + day * step}
              step={step}
              parts={series.map((one) => ({ colour: colour(one.project), value: one.values[day] ?? 0 }))}
              title={`${shownDay.format(new Date(date))}: ${format(totals[day] ?? 0)}`}
              y={y}
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
              {shownDay.format(new Date(dates[day] ?? 0))}
            </text>
          ))}
        </svg>
      )}
    </div>
  );
}

function Day({
  x,
  step,
  parts,
  title,
  y,
}: {
  readonly x: number;
  readonly step: number;
  readonly parts: readonly { readonly colour: number; readonly value: number }[];
  readonly title: string;
  readonly y: (value: number) => number;
}): JSX.Element {
  const gap = Math.min(6, step * 0.25);
  let below = 0;
  return (
    <g>
      <title>{title}</title>
      <rect class="day" x={x} y={space.top} width={step} height={height - space.top - space.bottom} />
      {parts.map(({ colour, value }) => {
        if (value <= 0) return null;
        const from = y(below);
        below += value;
        const to = y(below);
        return (
          <rect
            key={colour}
            style={{ fill: `var(--series-${colour})` }}
            x={x + gap / 2}
            y={to}
            width={Math.max(1, step - gap)}
            // seen even where it is next to nothing
            height={Math.max(1, from - to)}
          />
        );
      })}
    </g>
  );
}

/** As many days as there is room to name, the last one always. */
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

function FiguresTable({
  title,
  dates,
  series,
  format,
}: Pick<BarChartProps, 'title' | 'dates' | 'series' | 'format'>): JSX.Element {
  const days = dates
    .map((date, index) => ({ date, index }))
    .filter(({ index }) => series.some((one) => one.values[index]));
  const columns: readonly Column<(typeof days)[number]>[] = [
    { key: '', label: 'Day', cell: ({ date }) => date },
    ...series.map(({ project, values }) => ({
      ...{ key: project, label: project, numeric: true },
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
