import type { JSX } from 'preact';
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { Grant } from '#kernel/grants.ts';
import { isGranted } from '../granted.ts';
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
  const { view, shown, opened, problems } = useViewOfAddress(space);
  const columns = useMemo(() => gridColumns(space.fields), [space]);
  const pages = usePagesOfView(shown, space, api);
  const deleted = useMemo(() => ({ count: 0 }), [space]);
  // the space was loaded before they were deleted
  const current: Space = { ...space, records: space.records && Math.max(0, space.records - deleted.count) };
  const [selected, setSelected] = useState<RecordSelection>(nothing);
  const [jumps, setJumps] = useState(0);
  const [sums, setSums] = useState(false);
  const [changes, countChange] = useReducer<number, void>((count) => count + 1, 0);
  const [openField, setOpenField] = useState<string | null>(null);
  const [isLive, setLive] = useState(false);
  const where = useMemo(() => shown && whereOf(shown, space.fields), [shown, space]);
  const live = useLiveRecords({ on: isLive, api, where, pages });
  useEffect(() => setSelected(nothing), [view]);

  const may = (grant: Grant): boolean => isGranted(grant, { project, space: space.slug });
  const remove = async (targets: RecordSelection): Promise<void> => {
    const gone = await removeRecords({ api, view, space: current }, targets);
    if (targets === 'all') reload();
    if (targets !== 'all' && gone.size === 0) return;
    deleted.count += gone.size;
    pages.remove(gone);
    countChange();
    setSelected(nothing);
    if (opened !== null && gone.has(opened)) setQuery({ [openKey]: '' });
  };
  const close = (): void => setDialog(null);
  const none = pages.complete && pages.known === 0;
  const bare = shown !== null && isBare(shown);
  return (
    <>
      <RecordsToolbar
        {...{ view, pages, problems, selected, isLive }}
        space={current}
        live={live.state}
        onLive={setLive}
        onSelect={setSelected}
        onExport={() => setDialog('export')}
        onDelete={may('delete') ? () => void remove(selected) : null}
        onReload={reload}
        onJump={() => setJumps(jumps + 1)}
      />
      {pages.error !== null && <ProblemNote problem={toProblem(pages.error)} onRetry={() => pages.retry()} />}
      {none && bare ? (
        <NoRecords setDialog={setDialog} mayInsert={may('insert')} />
      ) : (
        <RecordGrid
          {...{ pages, columns, view, problems, selected, jumps }}
          isStale={shown !== view}
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
          onDelete={(ids) => void (may('delete') && remove(new Set(ids)))}
          total={bare ? current.records : null}
        />
      )}
      {none && !bare && shown === view && <NoMatch />}
      {shown !== null && !(none && bare) && (
        <RecordsFooter
          {...{ api, pages, changes, sums, setSums }}
          space={current}
          view={shown}
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
          onDelete={may('delete') ? (id) => void remove(new Set([id])) : null}
          mayChange={may(dialog === 'add' ? 'insert' : 'update')}
        />
      )}
      {dialog === 'export' && <ExportDialog {...{ api, space, view, selected }} onClose={close} />}
      {dialog === 'code' && <SnippetsDialog {...{ project, space, view }} onClose={close} />}
    </>
  );
}

function NoRecords({
  setDialog,
  mayInsert,
}: Pick<RecordsTableProps, 'setDialog'> & { readonly mayInsert: boolean }): JSX.Element {
  if (!mayInsert)
    return (
      <EmptyState icon="text" title="No records yet">
        <p>Records of others will be here.</p>
      </EmptyState>
    );
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

/**
 * The view, and the record that is open. `shown` is the view of the visible rows: the last one whose filters could be
 * read; null: none yet.
 */
function useViewOfAddress({ fields }: Space) {
  const query = new URLSearchParams(place.value.query);
  const opened = query.get(openKey);
  query.delete(openKey);
  const address = query.toString();
  const view = useMemo(() => viewOfQuery(new URLSearchParams(address)), [address]);
  const problems = useMemo(() => filterProblems(view, fields), [view, fields]);
  const readable = useRef<RecordView | null>(null);
  if (problems.size === 0) readable.current = view;
  // its fields may have been dropped since
  else if (readable.current !== null && filterProblems(readable.current, fields).size > 0)
    readable.current = null;
  return { view, shown: readable.current, opened, problems };
}

/** Pages of a view, from their beginning when it changes. No view: no rows. */
function usePagesOfView(view: RecordView | null, space: Space, api: RecordsApi): RecordPages {
  const [, changed] = useReducer<number, void>((count) => count + 1, 0);
  const pages = useMemo(() => {
    const { fields } = space;
    return new RecordPages({
      columns: gridColumns(fields).map(({ name }) => name),
      sortBy: sortedBy(view ?? emptyView),
      load: async (request, signal) =>
        view === null ? { records: [], size: 0 } : api.page(view, fields, request, signal),
      changed,
    });
  }, [view, space, api]);
  useEffect(() => () => pages.close(), [pages]);
  return pages;
}
