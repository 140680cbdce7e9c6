import type { JSX } from 'preact';
import type { ShowProgress } from '../parts/confirmed.ts';
import { CheckboxField, SelectField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { toast } from '../parts/toast.tsx';
import type { Space } from '../projects/projects-api.ts';
import { csvColumns } from './csv-writer.ts';
import { type ExportFormat, exportRecords, pagesOfIds, pagesOfView } from './export-records.ts';
import { isBare, type RecordView, sortedBy } from './record-view.ts';
import type { RecordsApi } from './records-api.ts';
import { saveFile } from './save-file.ts';
import type { Selected } from './selection.ts';

export interface ExportDialogProps {
  readonly api: RecordsApi;
  readonly space: Space;
  readonly view: RecordView;
  readonly selected: Selected;
  readonly onClose: () => void;
}

const types = { json: 'application/json', csv: 'text/csv' } as const;

/** Writes the selected records, or all that match, into a file of JSON or CSV. */
export function ExportDialog({ api, space, view, selected, onClose }: ExportDialogProps): JSX.Element {
  const ids = selected === 'all' ? [] : [...selected];
  const what: 'selected' | 'all' = ids.length > 0 ? 'selected' : 'all';
  const { values, text, flag } = useFields({
    what,
    format: 'json' as ExportFormat,
    guard: true,
    mark: false,
  });
  const { format } = values;
  const bare = isBare(view);
  const total = values.what === 'selected' ? ids.length : bare ? space.records : null;

  const send = async (signal: AbortSignal, progress: ShowProgress): Promise<void> => {
    progress(0, total);
    const pages =
      values.what === 'selected'
        ? pagesOfIds(ids, (some) => api.byIds(some, signal), signal)
        : pagesOfView((request) => api.page(view, space.fields, request, signal), sortedBy(view), signal);
    // the browser keeps the pieces outside the memory of the page
    const pieces: Blob[] = [];
    const count = await exportRecords({
      ...{ format, style: values, columns: csvColumns(space.fields), pages },
      write: (text) => void pieces.push(new Blob([text])),
      progress: (done) => progress(done, total),
    });
    saveFile(new Blob(pieces, { type: types[format] }), `${space.slug}.${format}`);
    toast(`${countOf(count, 'record')} exported.`);
    onClose();
  };
  return (
    <FormDialog title="Export records" verb="Export" asks={false} send={send} onClose={onClose}>
      <SelectField
        label="Records"
        {...text('what')}
        options={Object.entries({
          ...(ids.length > 0 ? { selected: `the ${formatNumber(ids.length)} selected` } : {}),
          all: bare ? 'all records' : 'all that match the filters and the search',
        })}
      />
      <SelectField
        label="Format"
        {...text('format')}
        options={Object.entries({ json: 'JSON: an array of records', csv: 'CSV: for spreadsheets' })}
      />
      {format === 'csv' && (
        <>
          <CheckboxField
            label="Put an apostrophe before formulas"
            hint="For files that are opened in a spreadsheet: it would run texts that begin with = + - @, a tab or a line break. An import here takes the apostrophe off again. Switch this off for other programs, which get the texts as they are."
            {...flag('guard')}
          />
          <CheckboxField
            label="Begin with a byte order mark"
            hint="Excel needs it to read letters beyond ASCII. Other programs may take it for a part of the first column’s name."
            {...flag('mark')}
          />
          <p class="quiet">Arrays and objects are JSON in their cells.</p>
        </>
      )}
    </FormDialog>
  );
}
