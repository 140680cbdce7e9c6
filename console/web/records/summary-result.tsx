import type { JSX } from 'preact';
import { address } from '../address.ts';
import { apiBase } from '../api.ts';
import { CodeBlock } from '../parts/copy.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { formatCompact, formatNumber } from '../parts/format.ts';
import { Bars, ChartSkeletons, Legend, otherColour } from '../usage/bar-chart.tsx';
import { cellText } from './cell-text.ts';
import type { StoredRecord } from './record-form.ts';
import { curl } from './snippets.ts';
import {
  bucketText,
  chartOf,
  figureOf,
  groupText,
  mostRows,
  type Summary,
  type SummaryFunction,
  valueNames,
} from './summary.ts';

export interface SummaryResultProps {
  readonly summary: Summary;
  /** Null: loading. */
  readonly rows: readonly StoredRecord[] | null;
  readonly caption: string;
}

/** The groups as a chart for each figure, and as a table. */
export function SummaryResult({ summary, rows, caption }: SummaryResultProps): JSX.Element {
  const { groups, time, every } = summary;
  const names = valueNames(summary);
  const shown = (name: string, value: unknown): string =>
    name === time ? bucketText(value, every) : shortText(groupText(value));
  const columns: Column<{ row: StoredRecord; at: number }>[] = [time, ...groups]
    .filter(Boolean)
    .map((name) => ({ label: name, cell: ({ row }) => shown(name, row[name]) }));
  for (const name of names) {
    columns.push({
      label: name,
      numeric: true,
      cell: ({ row }) => {
        const value = row[name];
        return typeof value === 'number' ? formatNumber(value) : value === null ? '–' : shown(name, value);
      },
    });
  }
  return (
    <>
      {columns.length > names.length &&
        (rows === null ? <ChartSkeletons count={names.length} /> : <Charts summary={summary} rows={rows} />)}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <section class="scrolls" tabIndex={0} aria-label={caption}>
        <DataTable
          caption={caption}
          columns={columns}
          rows={rows?.map((row, at) => ({ row, at })) ?? null}
          rowKey={({ at }) => String(at)}
        />
      </section>
      {rows?.length === mostRows && <p class="quiet">Only the first {mostRows} groups are shown.</p>}
    </>
  );
}

const shortText = (text: string): string => cellText(text)?.text ?? '';

/** Functions whose values of several groups can be added. */
const added: readonly SummaryFunction[] = ['count', 'sum'];

/** The name of the series of all groups without a colour: no name of a group. */
function othersName(names: readonly string[]): string {
  let name = 'others';
  while (names.includes(name)) name += ' ';
  return name;
}

/** The groups without a colour: bars that are added show them as one. */
function LeftOut({ count, isAdded }: { count: number; isAdded: readonly boolean[] }): JSX.Element {
  if (!isAdded.includes(true)) return <li class="quiet">and {count} more in the table</li>;
  return (
    <li>
      <span class="swatch" style={{ background: `var(--series-${otherColour})` }} />
      {count} {count === 1 ? 'other' : 'others'}
      {isAdded.includes(false) && ', left out where values can’t be added'}
    </li>
  );
}

interface ChartsProps {
  readonly summary: Summary;
  readonly rows: readonly StoredRecord[];
}

function Charts({ summary, rows }: ChartsProps): JSX.Element {
  const { values, time, every } = summary;
  const figures = valueNames(summary)
    .map((name, at) => ({ name, isAdded: added.includes(values[at]?.of ?? 'count') }))
    .filter(({ name }) => rows.some((row) => figureOf(row[name], name, summary) !== null));
  const chart = chartOf(
    rows,
    summary,
    figures.map(({ name }) => name),
  );
  const colour = (name: string): number => {
    const at = chart.names.indexOf(name);
    return at < 0 ? otherColour : at;
  };
  const label = (place: string): string => {
    const text = time === '' ? place : bucketText(place, every);
    return time === '' && text.length > 10 ? `${text.slice(0, 9)}…` : text;
  };
  return (
    <>
      <Legend label="Groups" names={chart.names} colour={colour} textOf={shortText}>
        {chart.left > 0 && <LeftOut count={chart.left} isAdded={figures.map(({ isAdded }) => isAdded)} />}
      </Legend>
      <div class="charts">
        {figures.map(({ name, isAdded }, at) => (
          <figure class="card chart" key={name}>
            <figcaption>
              <h2>{name}</h2>
            </figcaption>
            <Bars
              title={name}
              dates={chart.places}
              series={[
                ...(chart.figures[at] ?? []),
                ...(isAdded && chart.left > 0 ? [chart.others[at] ?? []] : []),
              ].map((values, index) => ({
                project: chart.names[index] ?? othersName(chart.names),
                values,
                total: 0,
              }))}
              {...{ label, colour }}
              format={formatCompact}
              apart={!isAdded}
            />
          </figure>
        ))}
      </div>
    </>
  );
}

/** The request, for a shell and for other programs. */
export function SummaryCode(props: { project: string; space: string; body: string }): JSX.Element {
  const url = apiBase() + address`/${props.project}/${props.space}/_aggregate_`;
  const body: unknown = JSON.parse(props.body);
  return (
    <details>
      <summary>The request as code</summary>
      <div class="stack">
        <CodeBlock code={curl(url, body)} label="Copy the curl command" />
        <CodeBlock code={`POST ${url}\n\n${JSON.stringify(body, null, 2)}`} label="Copy address and body" />
      </div>
    </details>
  );
}
