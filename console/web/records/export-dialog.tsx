import type { JSX } from 'preact';
import type { ShowProgress } from '../parts/confirmed.ts';
import { CheckboxField, SelectField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { formatNumber } from '../parts/format.ts';
import { toast } from '../parts/toast.tsx';
import type { Space } from '../projects/projects-api.ts';
import type { RecordSelection } from './record-selection.ts';
import { isBare, type RecordView } from './record-view.ts';
import type { ExportFormat, RecordsApi } from './records-api.ts';
import { saveFile } from './save-file.ts';

export interface ExportDialogProps {
  readonly api: RecordsApi;
  readonly space: Space;
  readonly view: RecordView;
  readonly selected: RecordSelection;
  readonly onClose: () => void;
}

const formats: Readonly<Record<ExportFormat, string>> = {
  json: 'JSON: an array of records',
  ndjson: 'NDJSON: a record on each line',
  csv: 'CSV: for spreadsheets',
  parquet: 'Parquet: typed columns',
  arrow: 'Arrow: typed columns',
};

/** Bytes that are handed to the browser at once, which keeps them outside the memory of the page. */
const pieceBytes = 8 * 1024 * 1024;

/** Saves the selected records, or all that match, as a file that the service makes. */
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

  const send = async (signal: AbortSignal, progress: ShowProgress): Promise<void> => {
    const query = format === 'csv' ? { $escapeFormulas: values.guard, $bom: values.mark } : {};
    const which = values.what === 'selected' ? ids : null;
    const answer = await api.export({ format, view, fields: space.fields, ids: which, query }, signal);
    const file = await collected(answer, (bytes) => progress(bytes, null));
    saveFile(file, `${space.slug}.${format}`);
    toast(`Saved ${space.slug}.${format}.`);
    onClose();
  };
  return (
    <FormDialog title="Export records" verb="Export" asks={false} send={send} onClose={onClose}>
      <SelectField
        label="Records"
        {...text('what')}
        options={Object.entries({
          ...(ids.length > 0 ? { selected: `the ${formatNumber(ids.length)} selected` } : {}),
          all: isBare(view) ? 'all records' : 'all that match the filters and the search',
        })}
      />
      <SelectField label="Format" {...text('format')} options={Object.entries(formats)} />
      {format === 'csv' && (
        <>
          <CheckboxField
            label="Put an apostrophe before formulas"
            hint="For spreadsheets, which run texts that begin with = + - @, a tab or a line break. An import here removes the apostrophe again. Switch this off for other programs."
            {...flag('guard')}
          />
          <CheckboxField
            label="Begin with a byte order mark"
            hint="Excel needs it for characters beyond ASCII. Other programs may read it as part of the first column’s name."
            {...flag('mark')}
          />
          <p class="quiet">Arrays and objects are JSON in their cells.</p>
        </>
      )}
    </FormDialog>
  );
}

/** The body of an answer, however large. Rejects when it is cut off. */
async function collected(answer: Response, progress: (bytes: number) => void): Promise<Blob> {
  const parts: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  let all = 0;
  const reader = (answer.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    pieces.push(next.value);
    size += next.value.byteLength;
    all += next.value.byteLength;
    if (size < pieceBytes) continue;
    parts.push(new Blob(pieces));
    [pieces, size] = [[], 0];
    progress(all);
  }
  return new Blob([...parts, ...pieces], { type: answer.headers.get('content-type') ?? '' });
}
