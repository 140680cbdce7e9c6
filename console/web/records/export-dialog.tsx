import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { CheckboxField, SelectField } from '../parts/field.tsx';
import { formatNumber } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { ProgressBar } from '../parts/progress.tsx';
import { toast } from '../parts/toast.tsx';
import { isAbort, type Problem, toProblem } from '../problem.ts';
import type { Space } from '../projects/projects-api.ts';
import { csvColumns } from './csv-writer.ts';
import { type ExportFormat, exportRecords, pagesOfIds, pagesOfView } from './export-records.ts';
import { effectiveSort, type RecordView } from './record-view.ts';
import type { RecordsApi } from './records-api.ts';
import { saveFile } from './save-file.ts';

export interface ExportDialogProps {
  readonly api: RecordsApi;
  readonly space: Space;
  readonly view: RecordView;
  readonly selected: readonly string[];
  readonly onClose: () => void;
}

const types = { json: 'application/json', csv: 'text/csv' } as const;

/** Writes the selected records, or all that match, into a file of JSON or CSV. */
export function ExportDialog({ api, space, view, selected, onClose }: ExportDialogProps): JSX.Element {
  const [format, setFormat] = useState<ExportFormat>('json');
  const [guard, setGuard] = useState(true);
  const [mark, setMark] = useState(false);
  const [what, setWhat] = useState(selected.length > 0 ? 'selected' : 'all');
  const [done, setDone] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const bare = view.filters.size === 0 && view.search === '';
  const total = what === 'selected' ? selected.length : bare ? space.records : null;

  const run = async (): Promise<void> => {
    const controller = new AbortController();
    abort.current = controller;
    const { signal } = controller;
    setProblem(null);
    setDone(0);
    try {
      const pages =
        what === 'selected'
          ? pagesOfIds(selected, (ids) => api.byIds(ids, signal), signal)
          : pagesOfView(
              (request) => api.page(view, space.fields, request, signal),
              effectiveSort(view).by,
              signal,
            );
      // the browser keeps the pieces outside the memory of the page
      const pieces: Blob[] = [];
      const write = (text: string): void => void pieces.push(new Blob([text]));
      const columns = csvColumns(space.fields);
      const count = await exportRecords({
        format,
        style: { guard, mark },
        columns,
        pages,
        write,
        progress: setDone,
      });
      saveFile(new Blob(pieces, { type: types[format] }), `${space.slug}.${format}`);
      toast(`${formatNumber(count)} records are exported.`);
      onClose();
    } catch (thrown) {
      setDone(null);
      if (!isAbort(thrown)) setProblem(toProblem(thrown));
    }
  };
  const busy = done !== null;
  return (
    <Dialog title="Export records" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) void run();
        }}
      >
        {problem !== null && <ProblemNote problem={problem} />}
        <SelectField
          label="Records"
          value={what}
          disabled={busy}
          onChange={setWhat}
          options={[
            ...(selected.length > 0
              ? [{ value: 'selected', label: `the ${formatNumber(selected.length)} selected` }]
              : []),
            { value: 'all', label: bare ? 'all records' : 'all that match the filters or the search' },
          ]}
        />
        <SelectField
          label="Format"
          value={format}
          disabled={busy}
          onChange={(value) => setFormat(value === 'csv' ? 'csv' : 'json')}
          options={[
            { value: 'json', label: 'JSON: an array of records' },
            { value: 'csv', label: 'CSV: for spreadsheets' },
          ]}
        />
        {format === 'csv' && (
          <>
            <CheckboxField
              label="Put an apostrophe before formulas"
              hint="For files that are opened in a spreadsheet: it would run texts that begin with = + - @, a tab or a line break. An import here takes the apostrophe off again. Switch this off for other programs, which get the texts as they are."
              checked={guard}
              disabled={busy}
              onChange={setGuard}
            />
            <CheckboxField
              label="Begin with a byte order mark"
              hint="Excel needs it to read letters beyond ASCII. Other programs may take it for a part of the first column’s name."
              checked={mark}
              disabled={busy}
              onChange={setMark}
            />
            <p class="quiet">Arrays and objects are JSON in their cells.</p>
          </>
        )}
        {busy && (
          <>
            <ProgressBar label="Export" done={Math.min(done, total ?? done)} total={total} />
            <p class="quiet" role="status">
              {formatNumber(done)} records so far
            </p>
          </>
        )}
        <div class="dialog-actions">
          <Button onClick={() => (busy ? abort.current?.abort() : onClose())}>
            {busy ? 'Stop' : 'Cancel'}
          </Button>
          <Button kind="primary" type="submit" busy={busy}>
            {busy ? 'Exporting…' : 'Export'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
