import type { JSX } from 'preact';
import { EmptyState } from '../parts/empty-state.tsx';
import { SelectField } from '../parts/field.tsx';
import { formatBytes, formatCompact } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { place, setQuery, to } from '../router.ts';
import { BarChart } from './bar-chart.tsx';
import { lastDays, type Measure, others, seriesOf, type UsageDay } from './series.ts';
import { loadUsage } from './usage-api.ts';

const pictures: readonly { measure: Measure; title: string; format: (value: number) => string }[] = [
  { measure: 'requests', title: 'Requests', format: formatCompact },
  { measure: 'bytesIn', title: 'Bytes received', format: formatBytes },
  { measure: 'files', title: 'Files uploaded', format: formatCompact },
  { measure: 'bytesStored', title: 'Bytes of uploaded files', format: formatBytes },
  { measure: 'recordsWritten', title: 'Records written', format: formatCompact },
];
const periods = ['7', '30', '90', '365'];

/** Use by project and day. */
export function UsagePage(): JSX.Element {
  const { query } = place.value;
  const asked = query.get('days') ?? '';
  const period = periods.includes(asked) ? asked : '30';
  const project = query.get('project') ?? '';
  const dates = lastDays(Number(period));
  const [from = '', until = ''] = [dates[0], dates.at(-1)];
  const { data, problem, reload } = useLoad((signal) => loadUsage(from, until, signal), [from, until]);
  const projects = [...new Set((data ?? []).map((day) => day.project))].sort();
  return (
    <Page
      title="Usage"
      intro="Of this account, by project and day (UTC): what each day brought. Figures are up to a minute behind."
    >
      <div class="row filters">
        <SelectField
          label="Period"
          value={period}
          onChange={(value) => setQuery({ days: value })}
          options={periods.map((days) => ({ value: days, label: `Last ${days} days` }))}
        />
        <SelectField
          label="Project"
          value={project}
          onChange={(value) => setQuery({ project: value || null })}
          options={[
            { value: '', label: 'All projects' },
            ...[...new Set([...projects, ...(project === '' ? [] : [project])])].map((slug) => ({
              value: slug,
              label: slug,
            })),
          ]}
        />
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {data === null && problem === null && (
        <div class="charts" aria-busy="true">
          {pictures.map(({ measure }) => (
            <div class="card chart waiting" key={measure}>
              <Skeleton />
            </div>
          ))}
        </div>
      )}
      {data !== null && <Pictures data={data} project={project} dates={dates} />}
    </Page>
  );
}

function Pictures({
  data,
  project,
  dates,
}: {
  readonly data: readonly UsageDay[];
  readonly project: string;
  readonly dates: readonly string[];
}): JSX.Element {
  const shown = project === '' ? data : data.filter((day) => day.project === project);
  if (shown.length === 0) {
    return (
      <EmptyState icon="usage" title="Nothing in this period">
        <p>
          Upload a file or write a record, and its figures are here within a minute.{' '}
          <a href={to`/projects`}>Go to your projects</a>
        </p>
      </EmptyState>
    );
  }
  const all = pictures.map((picture) => ({ ...picture, series: seriesOf(shown, dates, picture.measure) }));
  // a project has one colour in all pictures, by its first appearance
  const names = [...new Set(all.flatMap(({ series }) => series.map((one) => one.project)))].filter(
    (name) => name !== others,
  );
  const colour = (name: string): number =>
    name === others ? otherColour : names.indexOf(name) % otherColour;
  return (
    <>
      {names.length > 1 && (
        <ul class="legend" aria-label="Projects">
          {[
            ...names,
            ...(all.some(({ series }) => series.some((one) => one.project === others)) ? [others] : []),
          ].map((name) => (
            <li key={name}>
              <span class="swatch" style={{ background: `var(--series-${colour(name)})` }} />
              {name}
            </li>
          ))}
        </ul>
      )}
      <div class="charts">
        {all.map(({ measure, title, format, series }) => (
          <BarChart
            key={measure}
            title={title}
            dates={dates}
            series={series}
            format={format}
            colour={colour}
          />
        ))}
      </div>
    </>
  );
}

/** The last of the colours in usage.css. */
const otherColour = 6;
