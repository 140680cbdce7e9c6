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
import {
  emptyView,
  filterProblems,
  isBare,
  nextSorts,
  type RecordView,
  sortedBy,
  viewOfQuery,
} from './record-view.ts';
import type { RecordsApi } from './records-api.ts';
import { RecordsFooter } from './records-footer.tsx';
import { RecordsToolbar } from './records-toolbar.tsx';
import { removeRecords } from './remove-records.tsx';
import type { Selected } from './selection.ts';
import { showView } from './show-view.ts';
import { SnippetsDialog } from './snippets-dialog.tsx';

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

const nothing: Selected = new Set();

/** The record that is open, by its address: the Back button closes it. */
const openKey = 'record';

export function RecordsTable(props: RecordsTableProps): JSX.Element {
  const { project, space, api, dialog, setDialog, reload } = props;
  const { fields } = space;
  const query = new URLSearchParams(place.value.query);
  const opened = query.get(openKey);
  query.delete(openKey);
  const address = query.toString();
  const view = useMemo(() => viewOfQuery(new URLSearchParams(address)), [address]);
  const problems = useMemo(() => filterProblems(view, fields), [view, fields]);
  const columns = useMemo(() => gridColumns(fields), [fields]);
  const pages = usePagesOfView(view, space, api, problems.size > 0);
  const [selected, setSelected] = useState<Selected>(nothing);
  const [jumps, setJumps] = useState(0);
  const [sums, setSums] = useState(false);
  const [changes, setChanges] = useState(0);
  const [openField, setOpenField] = useState<string | null>(null);
  useEffect(() => setSelected(nothing), [view]);

  const open = (id: string, column: string): void => {
    setOpenField(column);
    setQuery({ [openKey]: id }, { replace: false });
  };
  const remove = async (doomed: Selected): Promise<void> => {
    const gone = await removeRecords({ api, space, view }, doomed);
    if (doomed === 'all') reload();
    if (doomed !== 'all' && gone.size === 0) return;
    pages.remove(gone);
    setChanges((last) => last + 1);
    setSelected(nothing);
    if (opened !== null && gone.has(opened)) setQuery({ [openKey]: null });
  };
  const none = pages.complete && pages.known === 0;
  const bare = isBare(view);
  return (
    <>
      <RecordsToolbar
        space={space}
        view={view}
        pages={pages}
        problems={problems}
        selected={selected}
        onSelectAll={() => setSelected('all')}
        onClear={() => setSelected(nothing)}
        onExport={() => setDialog('export')}
        onDelete={() => void remove(selected)}
        onReload={reload}
        onJump={() => setJumps(jumps + 1)}
      />
      {pages.error !== null && <ProblemNote problem={toProblem(pages.error)} onRetry={() => pages.retry()} />}
      {none && bare ? (
        <EmptyState icon="text" title="No records yet">
          <p>Add the first one, import a file of JSON or CSV, or send one from a program.</p>
          <div class="row">
            <Button kind="primary" onClick={() => setDialog('add')}>
              Add a record
            </Button>
            <Button onClick={() => setDialog('import')}>Import a file</Button>
            <Button onClick={() => setDialog('code')}>Show the code</Button>
          </div>
        </EmptyState>
      ) : (
        <RecordGrid
          label={`Records of ${space.slug}`}
          pages={pages}
          columns={columns}
          view={view}
          problems={problems}
          onSort={(column, adds) =>
            showView((last) => ({ ...last, sorts: nextSorts(last.sorts, column, adds) }))
          }
          onFilter={(column, filter) => showView((last) => withFilter(last, column, filter))}
          selected={selected}
          onSelect={setSelected}
          onOpen={open}
          onDelete={(ids) => void remove(new Set(ids))}
          total={bare ? space.records : null}
          jumps={jumps}
        />
      )}
      {none && !bare && (
        <div class="row" role="status">
          <span>No record matches.</span>
          <Button small onClick={() => showView(({ sorts }) => ({ ...emptyView, sorts }))}>
            Show all records
          </Button>
        </div>
      )}
      {!(none && bare) && (
        <RecordsFooter
          {...{ space, api, view, pages, changes, sums, setSums }}
          known={pages.known}
          complete={pages.complete}
          refused={problems.size > 0}
        />
      )}
      {(dialog === 'add' || opened !== null) && (
        <RecordDialog
          key={opened}
          api={api}
          fields={fields}
          id={dialog === 'add' ? null : opened}
          focus={openField}
          onClose={() => (dialog === 'add' ? setDialog(null) : setQuery({ [openKey]: null }))}
          onAdded={reload}
          onChanged={(record) => {
            pages.replace(record);
            setChanges((last) => last + 1);
          }}
          onDelete={(id) => void remove(new Set([id]))}
        />
      )}
      {dialog === 'export' && (
        <ExportDialog
          api={api}
          space={space}
          view={view}
          selected={selected}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === 'code' && (
        <SnippetsDialog project={project} space={space} view={view} onClose={() => setDialog(null)} />
      )}
    </>
  );
}

function withFilter(view: RecordView, column: string, filter: Filter | null): RecordView {
  const filters = new Map(view.filters);
  if (filter === null) filters.delete(column);
  else filters.set(column, filter);
  return { ...view, filters };
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
