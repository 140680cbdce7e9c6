import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CheckboxField } from '../parts/field.tsx';
import type { Field } from '../projects/structure.ts';
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

export interface ImportChoicesProps {
  readonly fields: readonly Field[];
  readonly name: string;
  readonly preview: ImportPreview;
  readonly onBack: () => void;
  readonly onStart: (reader: RowReader) => void;
}

const shownRows = 8;

/** The first rows of the file, and the field that each of its columns goes to. */
export function ImportChoices({ fields, name, preview, onBack, onStart }: ImportChoicesProps): JSX.Element {
  const [columns, setColumns] = useState<ColumnMap>(() => mapColumns(preview.columns, fields));
  const [unguard, setUnguard] = useState(true);
  const reader = { fields, columns, unguard };
  const used = columns.filter(({ field }) => field !== null).length;
  const bad = useMemo(
    () =>
      preview.rows.map((row) => readRow(row, { fields, columns, unguard })).filter((row) => 'problem' in row),
    [preview, fields, columns, unguard],
  );
  const choose = (index: number, field: string): void =>
    setColumns((last) =>
      last.map((entry, at) => {
        if (at === index) return { ...entry, field: field === '' ? null : field };
        // a field takes one column
        return entry.field === field ? { ...entry, field: null } : entry;
      }),
    );
  return (
    <div class="stack">
      <p>
        <strong>{name}</strong>: {preview.format.kind === 'json' ? 'JSON' : 'CSV'}.{' '}
        {columns.length === 0
          ? 'There is nothing in it to import.'
          : `${used} of ${columns.length} ${preview.format.kind === 'json' ? 'keys' : 'columns'} go to a field; the others are left out.`}
      </p>
      {columns.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
        <section class="import-preview" tabIndex={0} aria-label="The first rows">
          <table class="data-table">
            <thead>
              <tr>
                <th scope="col">Line</th>
                {columns.map(({ column, field }, index) => (
                  <th scope="col" key={index}>
                    <div class="cut">{column || '(no name)'}</div>
                    <select
                      aria-label={`Field for ${column || `column ${index + 1}`}`}
                      value={field ?? ''}
                      onChange={(event) => choose(index, event.currentTarget.value)}
                    >
                      <option value="">{isSystemColumn(column) ? 'set by the service' : 'leave out'}</option>
                      {fields.map(({ name, type }) => (
                        <option key={name} value={name}>
                          {name} ({type})
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
      )}
      {bad.length > 0 && (
        <div class="note" role="status">
          Of the first {preview.rows.length} rows {bad.length} can’t be imported. Line {bad[0]?.line}:{' '}
          {bad[0] !== undefined && 'problem' in bad[0] ? bad[0].problem : ''}
        </div>
      )}
      {preview.format.kind === 'csv' && (
        <CheckboxField
          label="Take off apostrophes before formulas"
          hint="An export writes '=1 for =1, so that no spreadsheet runs it. Switch this off for a file where such apostrophes belong to the text."
          checked={unguard}
          onChange={setUnguard}
        />
      )}
      <div class="dialog-actions">
        <Button onClick={onBack}>Another file</Button>
        <Button kind="primary" disabled={used === 0} onClick={() => onStart(reader)}>
          Import
        </Button>
      </div>
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
