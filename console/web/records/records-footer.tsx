import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import type { Space } from '../projects/projects-api.ts';
import { typeCan } from './field-types.ts';
import type { RecordPages } from './record-pages.ts';
import { isBare, type RecordView, whereOf } from './record-view.ts';
import type { RecordsApi } from './records-api.ts';

export interface RecordsFooterProps {
  readonly space: Space;
  readonly api: RecordsApi;
  readonly view: RecordView;
  readonly pages: RecordPages;
  /** Passed separately, because `pages` is mutable: equal props would not redraw. */
  readonly known: number;
  readonly complete: boolean;
  /** Increases with each change of a record. */
  readonly changes: number;
  /** Increases with each live reload. */
  readonly liveReads: number;
  readonly sums: boolean;
  readonly setSums: (sums: boolean) => void;
}

/** Two functions for each field; an aggregation may have 100. */
const mostSums = 49;

/** How many records match and, when asked for, sums and averages of their numbers. One request answers both. */
export function RecordsFooter(props: RecordsFooterProps): JSX.Element {
  const { space, api, view, pages, known, complete, changes, liveReads, sums, setSums } = props;
  const names = space.fields
    .filter(({ type, hashed }) => typeCan(type, 'summed') && !hashed)
    .slice(0, mostSums)
    .map(({ name }) => name);
  const counts = (!isBare(view) || liveReads > 0) && !complete && known > 0;
  const asks = counts || sums;
  // an answer about another view, or from before a change, is not shown
  const key = useMemo(() => ({}), [pages, changes, asks, sums]);
  const loaded = useLoad(
    async (signal) => {
      if (!asks) return null;
      const values = names.map((name, at) => [
        [`sum${at}`, { sum: name }],
        [`avg${at}`, { avg: name }],
      ]);
      const where = whereOf(view, space.fields);
      const asked = { count: 'count', ...Object.fromEntries(sums ? values.flat() : []) };
      const [row = {}] = await api.aggregate({ where, values: asked }, signal);
      return { key, row };
    },
    [key],
  );
  const read = useRef(liveReads);
  // keep the last response until the next arrives, one request at a time
  useEffect(() => {
    if (loaded.loading || read.current === liveReads) return;
    read.current = liveReads;
    loaded.reload();
  }, [loaded.loading, liveReads]);
  const { problem } = loaded;
  const row = loaded.data?.key === key ? loaded.data.row : {};
  const total = Number(row.count ?? (isBare(view) ? (space.records ?? 0) : 0));
  return (
    <footer class="records-foot">
      <div class="row apart">
        <span class="quiet" role="status">
          {state(known, complete, total)}
        </span>
        {names.length > 0 && (
          <Button small pressed={sums} onClick={() => setSums(!sums)}>
            Sums and averages
          </Button>
        )}
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={loaded.reload} />}
      {sums && problem === null && (
        <ul class="sums" aria-label="Sums and averages" aria-busy={loaded.loading}>
          {names.map((name, at) => (
            <li key={name}>
              <strong>{name}</strong> sum {figure(row[`sum${at}`])}, average {figure(row[`avg${at}`])}
            </li>
          ))}
        </ul>
      )}
    </footer>
  );
}

/** How many records are loaded, and how many there are. */
function state(known: number, complete: boolean, total: number): string {
  if (complete) return countOf(known, 'record');
  if (known === 0) return 'Loading…';
  return total > known
    ? `${formatNumber(known)} of ${countOf(total, 'record')} loaded`
    : `${formatNumber(known)} loaded so far`;
}

function figure(value: unknown): string {
  // exact numbers are strings
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? formatNumber(value) : value === null ? 'none' : '…';
}
