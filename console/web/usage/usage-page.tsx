import type { JSX } from 'preact';
import { callJson } from '../api.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { SelectField } from '../parts/field.tsx';
import { formatBytes, formatCompact } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { place, setQuery, to } from '../router.ts';
import { BarChart, ChartSkeletons, Legend, otherColour } from './bar-chart.tsx';
import { lastDays, type Measure, others, seriesOf, type UsageDay } from './series.ts';

const measures: readonly { measure: Measure; title: string; format: (value: number) => string }[] = [
  { measure: 'requests', title: 'Requests', format: formatCompact },
  { measure: 'bytesIn', title: 'Bytes received', format: formatBytes },
  { measure: 'files', title: 'Files uploaded', format: formatCompact },
  { measure: 'bytesStored', title: 'Bytes of uploaded files', format: formatBytes },
  { measure: 'recordsWritten', title: 'Records written', format: formatCompact },
];
const periods = ['7', '30', '90', '365'];

export function UsagePage(): JSX.Element {
  const { query } = place.value;
  const requested = query.get('days') ?? '';
  const period = periods.includes(requested) ? requested : '30';
  const project = query.get('project') ?? '';
  const dates = lastDays(Number(period));
  const [from = '', until = ''] = [dates[0], dates.at(-1)];
  const { data, problem, reload } = useLoad(
    (signal) => callJson<{ days: UsageDay[] }>('/_usage_', { query: { from, to: until }, signal }),
    [from, until],
  );
  // include the chosen project
  const projects = [...new Set([...(data?.days ?? []).map((day) => day.project), project])].sort();
  return (
    <Page
      title="Usage"
      intro="Usage of this account by project and day (UTC). Figures are up to a minute behind."
    >
      <div class="row filters">
        <SelectField
          label="Period"
          value={period}
          onInput={(value) => setQuery({ days: value })}
          options={periods.map((days) => [days, `Last ${days} days`])}
        />
        <SelectField
          label="Project"
          value={project}
          onInput={(value) => setQuery({ project: value })}
          options={['', ...projects.filter(Boolean)].map((slug) => [slug, slug || 'All projects'])}
        />
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {data === null && problem === null && <ChartSkeletons count={measures.length} />}
      {data !== null && <Charts data={data.days} project={project} dates={dates} />}
    </Page>
  );
}

interface ChartsProps {
  readonly data: readonly UsageDay[];
  readonly project: string;
  readonly dates: readonly string[];
}

function Charts({ data, project, dates }: ChartsProps): JSX.Element {
  const shown = project === '' ? data : data.filter((day) => day.project === project);
  if (shown.length === 0) {
    return (
      <EmptyState icon="usage" title="Nothing in this period">
        <p>
          Upload a file or write a record: its figures appear within a minute.{' '}
          <a href={to`/projects`}>Go to your projects</a>
        </p>
      </EmptyState>
    );
  }
  const charts = measures.map((each) => ({ ...each, series: seriesOf(shown, dates, each.measure) }));
  // a project has the same colour in all charts, by its first appearance
  const all = [...new Set(charts.flatMap(({ series }) => series.map((one) => one.project)))];
  const names = all.filter((name) => name !== others);
  const colour = (name: string): number =>
    name === others ? otherColour : names.indexOf(name) % otherColour;
  return (
    <>
      <Legend
        label="Projects"
        names={all.length > names.length ? [...names, others] : names}
        colour={colour}
      />
      <div class="charts">
        {charts.map(({ measure, title, format, series }) => (
          <BarChart key={measure} {...{ title, dates, series, format, colour }} />
        ))}
      </div>
    </>
  );
}
