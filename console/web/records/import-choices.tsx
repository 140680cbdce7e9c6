import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CheckboxField } from '../parts/field.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { type Field, type FieldType, typeWords } from '../projects/structure.ts';
import { cellText } from './cell-text.ts';
import {
  type ColumnMap,
  isSystemColumn,
  mapColumns,
  type RowReader,
  readRow,
  type SourceRow,
} from './import-rows.ts';
import type { ImportPreview } from './import-source.ts';
import { inferFields } from './infer-fields.ts';

export interface ImportChoicesProps {
  /** None: the space gets those that the file suggests. */
  readonly fields: readonly Field[];
  readonly name: string;
  readonly preview: ImportPreview;
  readonly onBack: () => void;
  readonly onStart: (reader: RowReader) => void;
}

const shownRows = 8;

/** The first rows of the file, and the field that each of its columns goes to. */
export function ImportChoices(props: ImportChoicesProps): JSX.Element {
  const { name, preview, onBack, onStart } = props;
  const isNew = props.fields.length === 0;
  const { reader, fields, used, choose, setUnguard } = useColumnMap(preview, props.fields);
  const { columns } = reader;
  const json = preview.format.kind === 'json';
  const repeated = preview.columns.filter(
    (column, index) => column !== '' && preview.columns.indexOf(column) < index,
  );
  return (
    <div class="stack">
      <p>
        <strong>{name}</strong>: {json ? 'JSON' : 'CSV'}.{' '}
        {columns.length === 0
          ? 'There is nothing in it to import.'
          : `${used} of ${countOf(columns.length, json ? 'key' : 'column')} ${isNew ? 'become fields' : 'go to a field'}; the others are left out.`}
      </p>
      {repeated.length > 0 && (
        <div class="note" role="status">
          The first line names{' '}
          {[...new Set(repeated)].map((column) => `“${cellText(column)?.text}”`).join(', ')} more than once. A
          field takes one column: choose which.
        </div>
      )}
      {columns.length > 0 && <PreviewTable {...{ preview, columns, fields, isNew, choose }} />}
      <BadRowsNote rows={preview.rows} reader={reader} />
      {!json && (
        <CheckboxField
          label="Remove apostrophes before formulas"
          hint="An export writes '=1 for =1, so that no spreadsheet runs it. Switch this off for a file where such apostrophes belong to the text."
          checked={reader.unguard}
          onChange={setUnguard}
        />
      )}
      <div class="row dialog-actions">
        <Button onClick={onBack}>Another file</Button>
        <Button kind="primary" disabled={used === 0} onClick={() => onStart(reader)}>
          {isNew ? 'Create the fields and import' : 'Import'}
        </Button>
      </div>
    </div>
  );
}

type Choose = (index: number, choice: string) => void;

/** The field of each column. @param given none: those that the file suggests, whose types are chosen instead */
function useColumnMap(preview: ImportPreview, given: readonly Field[]) {
  const isNew = given.length === 0;
  const [fields, setFields] = useState(() => (isNew ? inferFields(preview) : given));
  const [columns, setColumns] = useState<ColumnMap>(() => mapColumns(preview.columns, fields));
  const [unguard, setUnguard] = useState(true);
  const taken = new Set(columns.map(({ field }) => field).filter((field) => field !== null));
  const choose: Choose = (index, choice) => {
    const { column = '' } = columns[index] ?? {};
    const field = isNew && choice !== '' ? column.trim() : choice;
    const type = choice as FieldType;
    if (isNew) setFields(fields.map((last) => (last.name === field ? { ...last, type } : last)));
    setColumns(
      columns.map((entry, at) => {
        if (at === index) return { ...entry, field: field === '' ? null : field };
        // a field takes one column
        return entry.field === field ? { ...entry, field: null } : entry;
      }),
    );
  };
  const reader = useMemo(
    () => ({ fields: isNew ? fields.filter(({ name }) => taken.has(name)) : fields, columns, unguard }),
    [fields, columns, unguard],
  );
  return { reader, fields, used: taken.size, choose, setUnguard };
}

interface PreviewTableProps {
  readonly preview: ImportPreview;
  readonly columns: ColumnMap;
  readonly fields: readonly Field[];
  readonly isNew: boolean;
  readonly choose: Choose;
}

function PreviewTable({ preview, columns, fields, isNew, choose }: PreviewTableProps): JSX.Element {
  const options = (column: string): readonly (readonly [value: string, label: string])[] => {
    if (!isNew) return fields.map((field) => [field.name, `${field.name} (${field.type})`]);
    return fields.some((field) => field.name === column.trim()) ? Object.entries(typeWords) : [];
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
    <section class="scrolls import-preview" tabIndex={0} aria-label="The first rows">
      <table class="data-table">
        <thead>
          <tr>
            <th scope="col" class="numeric">
              Line
            </th>
            {columns.map(({ column, field }, index) => (
              <th scope="col" key={index}>
                <div class="cut">{cellText(column || '(no name)')?.text}</div>
                <select
                  aria-label={`${isNew ? 'Type of' : 'Field for'} ${cellText(column || `column ${index + 1}`)?.text}`}
                  value={(isNew ? fields.find((one) => one.name === field)?.type : field) ?? ''}
                  onChange={(event) => choose(index, event.currentTarget.value)}
                >
                  <option value="">{isSystemColumn(column) ? 'set by the service' : 'leave out'}</option>
                  {options(column).map(([value, label]) => (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  ))}
                </select>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {preview.rows.slice(0, shownRows).map((row) => (
            <tr key={row.line}>
              <th scope="row" class="numeric">
                {row.line}
              </th>
              {columns.map(({ column }, index) => (
                <td key={index}>{previewCell(row, column, index)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface BadRowsNoteProps {
  readonly rows: readonly SourceRow[];
  readonly reader: RowReader;
}

function BadRowsNote({ rows, reader }: BadRowsNoteProps): JSX.Element | null {
  const bad = useMemo(
    () => rows.map((row) => readRow(row, reader)).filter((row) => 'problem' in row),
    [rows, reader],
  );
  if (bad[0] === undefined) return null;
  return (
    <div class="note" role="status">
      Of the first {countOf(rows.length, 'row')} {formatNumber(bad.length)} can’t be imported. Line{' '}
      {bad[0].line}: {bad[0].problem}
    </div>
  );
}

function previewCell(row: SourceRow, column: string, index: number): JSX.Element {
  const { record } = row;
  const value = row.cells === undefined ? ownValue(record, column) : row.cells[index];
  const cell = cellText(value);
  if (cell === null) return <span class="none">no value</span>;
  return (
    <span>
      {cell.text}
      {cell.cut && '…'}
    </span>
  );
}

/** Own properties alone: a key may be called `constructor`. */
function ownValue(record: unknown, key: string): unknown {
  if (typeof record !== 'object' || record === null || !Object.hasOwn(record, key)) return undefined;
  return (record as Readonly<Record<string, unknown>>)[key];
}
