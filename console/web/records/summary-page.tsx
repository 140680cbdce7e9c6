import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { countOf } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { SpacePage } from '../projects/frames.tsx';
import { getSpace, type Space } from '../projects/projects-api.ts';
import { navigate, type PageProps, place, samePage } from '../router.ts';
import { operatorWords } from './filter-operators.ts';
import { filterProblems, queryOfView, type RecordView, viewOfQuery } from './record-view.ts';
import { RecordsApi } from './records-api.ts';
import { type Summary, summaryBody, summaryOfQuery, summaryProblems, withSummary } from './summary.ts';
import { SummaryFields } from './summary-fields.tsx';
import { SummaryCode, SummaryResult } from './summary-result.tsx';

/** The records of a space grouped by fields and time, as a table and as charts. */
export function SummaryPage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const { data, problem, reload } = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const query = queryOfView(viewOfQuery(place.value.query));
  return (
    <SpacePage {...{ project, space, query }} structure={data} current="Summary">
      {problem !== null ? (
        <ProblemNote problem={problem} onRetry={reload} />
      ) : data === null ? (
        <Skeleton lines={8} />
      ) : (
        <SummaryOfSpace project={project} space={data} />
      )}
    </SpacePage>
  );
}

function SummaryOfSpace({ project, space }: { project: string; space: Space }): JSX.Element {
  const { fields, slug } = space;
  const api = useMemo(() => new RecordsApi(project, slug), [project, slug]);
  const { query } = place.value;
  const [summary, view] = [summaryOfQuery(query, fields), viewOfQuery(query)];
  const [wrongFilter] = filterProblems(view, fields);
  const problems = summaryProblems(summary, fields);
  const isRight = wrongFilter === undefined && problems.size === 0;
  const body = isRight ? JSON.stringify(summaryBody(summary, view, fields)) : '';
  const { data, problem, reload } = useLoad(
    async (signal) => {
      return { body, rows: body === '' ? [] : await api.aggregate(JSON.parse(body) as object, signal) };
    },
    [api, body],
  );
  const zone = problem?.details.find((detail) => detail.includes('timeZone'));
  const refused = zone === undefined ? problems : new Map([...problems, ['zone', zone]]);
  const show = (query: URLSearchParams, next: Summary): void => navigate(samePage(withSummary(query, next)));
  const change = (changed: Partial<Summary>): void =>
    show(place.value.query, { ...summaryOfQuery(place.value.query, fields), ...changed });
  const rows = data?.body === body ? data.rows : null;
  return (
    <div class="stack">
      <SummaryFields {...{ fields, summary }} problems={refused} onChange={change} />
      <Filters
        view={view}
        total={space.records}
        problem={wrongFilter?.join(': ')}
        onClear={() => show(new URLSearchParams(), summary)}
      />
      {problem !== null && zone === undefined && <ProblemNote problem={problem} onRetry={reload} />}
      {isRight && problem === null && rows?.length !== 0 && (
        <SummaryResult summary={summary} rows={rows} caption={`Summary of ${slug}`} />
      )}
      {isRight && problem === null && rows?.length === 0 && (
        <EmptyState icon="usage" title="No record matches">
          <p>There is nothing to summarize. Remove filters or add records.</p>
        </EmptyState>
      )}
      {isRight && <SummaryCode {...{ project, space: slug, body }} />}
    </div>
  );
}

interface FiltersProps {
  readonly view: RecordView;
  /** Records of the space; null: unknown. */
  readonly total: number | null;
  readonly problem: string | undefined;
  readonly onClear: () => void;
}

/** Describes the filters, which are set in the table. */
function Filters({ view, total, problem, onClear }: FiltersProps): JSX.Element {
  const words = [...view.filters].map(([name, { operator, text }]) =>
    `${name} ${operatorWords[operator]} ${text}`.trim(),
  );
  const joined = words.join(view.match === 'any' ? ' or ' : ' and ');
  const search = view.search === '' ? '' : `“${view.search}” in a text field`;
  const all = [joined, search].filter((text) => text !== '');
  if (queryOfView({ ...view, sorts: [] }) === '') {
    const records = total === null ? 'records' : countOf(total, 'record');
    return <p class="quiet">All {records}. Filters of the table apply here.</p>;
  }
  return (
    <div class="row">
      <p
        class={problem === undefined ? 'quiet' : 'field-error'}
        role={problem === undefined ? undefined : 'alert'}
      >
        {problem ?? `Records with ${all.join(', and ')}.`}
      </p>
      <Button small kind="quiet" onClick={onClear}>
        Clear the filters
      </Button>
    </div>
  );
}
