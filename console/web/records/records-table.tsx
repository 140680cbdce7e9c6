import type { JSX } from 'preact';
import { useEffect, useMemo, useReducer, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toProblem } from '../problem.ts';
import type { Space } from '../projects/projects-api.ts';
import { place, setQuery } from '../router.ts';
import { ExportDialog } from './export-dialog.tsx';
import type { Filter } from './filters.ts';
import { gridColumns } from './grid-columns.ts';
import { RecordDialog } from './record-dialog.tsx';
import { RecordGrid } from './record-grid.tsx';
import { RecordPages } from './record-pages.ts';
import type { RecordSelection } from './record-selection.ts';
import {
  emptyView,
  filterProblems,
  isBare,
  nextSorts,
  type RecordView,
  sortedBy,
  viewOfQuery,
  whereOf,
} from './record-view.ts';
import type { RecordsApi } from './records-api.ts';
import { RecordsFooter } from './records-footer.tsx';
import { RecordsToolbar } from './records-toolbar.tsx';
import { removeRecords } from './remove-records.tsx';
import { showView } from './show-view.ts';
import { SnippetsDialog } from './snippets-dialog.tsx';
import { useLiveRecords } from './use-live-records.ts';

/** The panel or dialog above the table. */
export type OpenDialog = 'add' | 'import' | 'export' | 'code' | null;

export interface RecordsTableProps {
  readonly project: string;
  readonly space: Space;
  readonly api: RecordsApi;
  readonly dialog: OpenDialog;
  readonly setDialog: (dialog: OpenDialog) => void;
  readonly reload: () => void;
}

const nothing: RecordSelection = new Set();

/** Query parameter of the open record, so that the back button closes it. */
const openKey = 'record';

export function RecordsTable(props: RecordsTableProps): JSX.Element {
  const { project, space, api, dialog, setDialog, reload } = props;
  const { view, opened, problems, refused } = useViewOfAddress(space);
  const columns = useMemo(() => gridColumns(space.fields), [space]);
  const pages = usePagesOfView(view, space, api, refused);
  const [selected, setSelected] = useState<RecordSelection>(nothing);
  const [jumps, setJumps] = useState(0);
  const [sums, setSums] = useState(false);
  const [changes, countChange] = useReducer<number, void>((count) => count + 1, 0);
  const [openField, setOpenField] = useState<string | null>(null);
  const [isLive, setLive] = useState(false);
  const where = useMemo(() => (refused ? null : whereOf(view, space.fields)), [view, space, refused]);
  const live = useLiveRecords({ on: isLive, api, where, pages });
  useEffect(() => setSelected(nothing), [view]);

  const remove = async (targets: RecordSelection): Promise<void> => {
    const gone = await removeRecords({ api, space, view }, targets);
    if (targets === 'all') reload();
    if (targets !== 'all' && gone.size === 0) return;
    pages.remove(gone);
    countChange();
    setSelected(nothing);
    if (opened !== null && gone.has(opened)) setQuery({ [openKey]: '' });
  };
  const close = (): void => setDialog(null);
  const none = pages.complete && pages.known === 0;
  const bare = isBare(view);
  return (
    <>
      <RecordsToolbar
        {...{ space, view, pages, problems, selected, isLive }}
        live={live.state}
        onLive={setLive}
        onSelect={setSelected}
        onExport={() => setDialog('export')}
        onDelete={() => void remove(selected)}
        onReload={reload}
        onJump={() => setJumps(jumps + 1)}
      />
      {pages.error !== null && <ProblemNote problem={toProblem(pages.error)} onRetry={() => pages.retry()} />}
      {none && bare ? (
        <NoRecords setDialog={setDialog} />
      ) : (
        <RecordGrid
          {...{ pages, columns, view, problems, selected, jumps }}
          marks={live.marks}
          label={`Records of ${space.slug}`}
          onSort={(column, adds) =>
            showView((last) => ({ ...last, sorts: nextSorts(last.sorts, column, adds) }))
          }
          onFilter={(column, filter) => showView((last) => withFilter(last, column, filter))}
          onSelect={setSelected}
          onOpen={(id, column) => {
            setOpenField(column);
            setQuery({ [openKey]: id }, { replace: false });
          }}
          onDelete={(ids) => void remove(new Set(ids))}
          total={bare ? space.records : null}
        />
      )}
      {none && !bare && <NoMatch />}
      {!(none && bare) && (
        <RecordsFooter
          {...{ space, api, view, pages, changes, sums, setSums, refused }}
          liveReads={live.reads}
          known={pages.known}
          complete={pages.complete}
        />
      )}
      {(dialog === 'add' || opened !== null) && (
        <RecordDialog
          key={opened}
          api={api}
          fields={space.fields}
          id={dialog === 'add' ? null : opened}
          focus={openField}
          onClose={dialog === 'add' ? close : () => setQuery({ [openKey]: '' })}
          onAdded={reload}
          onChanged={(record) => {
            pages.replace(record);
            countChange();
          }}
          onDelete={(id) => void remove(new Set([id]))}
        />
      )}
      {dialog === 'export' && <ExportDialog {...{ api, space, view, selected }} onClose={close} />}
      {dialog === 'code' && <SnippetsDialog {...{ project, space, view }} onClose={close} />}
    </>
  );
}

function NoRecords({ setDialog }: Pick<RecordsTableProps, 'setDialog'>): JSX.Element {
  return (
    <EmptyState icon="text" title="No records yet">
      <p>Add one, import a file such as JSON or CSV, or send one from a program.</p>
      <div class="row">
        <Button kind="primary" onClick={() => setDialog('add')}>
          Add a record
        </Button>
        <Button onClick={() => setDialog('import')}>Import a file</Button>
        <Button onClick={() => setDialog('code')}>Show the code</Button>
      </div>
    </EmptyState>
  );
}

function NoMatch(): JSX.Element {
  return (
    <div class="row" role="status">
      <span>No record matches.</span>
      <Button small onClick={() => showView(({ sorts }) => ({ ...emptyView, sorts }))}>
        Show all records
      </Button>
    </div>
  );
}

function withFilter(view: RecordView, column: string, filter: Filter | null): RecordView {
  const filters = new Map(view.filters);
  if (filter === null) filters.delete(column);
  else filters.set(column, filter);
  return { ...view, filters };
}

/** The view, and the record that is open. */
function useViewOfAddress({ fields }: Space) {
  const query = new URLSearchParams(place.value.query);
  const opened = query.get(openKey);
  query.delete(openKey);
  const address = query.toString();
  const view = useMemo(() => viewOfQuery(new URLSearchParams(address)), [address]);
  const problems = useMemo(() => filterProblems(view, fields), [view, fields]);
  return { view, opened, problems, refused: problems.size > 0 };
}

/** Pages of a view, from their beginning when it changes. A filter that the API would refuse is not sent. */
function usePagesOfView(view: RecordView, space: Space, api: RecordsApi, refused: boolean): RecordPages {
  const [, changed] = useReducer<number, void>((count) => count + 1, 0);
  const pages = useMemo(() => {
    const { fields } = space;
    return new RecordPages({
      columns: gridColumns(fields).map(({ name }) => name),
      sortBy: sortedBy(view),
      load: async (request, signal) =>
        refused ? { records: [], size: 0 } : api.page(view, fields, request, signal),
      changed,
    });
  }, [view, space, api, refused]);
  useEffect(() => () => pages.close(), [pages]);
  return pages;
}
