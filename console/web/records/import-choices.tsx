import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { slugOfName } from '#kernel/ids/slug-of-name.ts';
import { Button } from '../parts/button.tsx';
import { CheckboxField, SelectField } from '../parts/field.tsx';
import { countOf } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { type Field, systemKeys } from '../projects/structure.ts';
import { cellText } from './cell-text.ts';
import { type FieldType, typeEntry, typeOptions, withDigitsOf } from './field-types.ts';
import {
  type CellChoice,
  type CellChoices,
  cellChoices,
  formatOf,
  type ImportOrder,
  type ImportPreview,
  noPreview,
  previewFile,
} from './import-api.ts';

export interface ImportChoicesProps {
  readonly path: string;
  readonly file: File;
  /** The space has no fields: it gets fields inferred from the file. */
  readonly isNew: boolean;
  readonly onBack: () => void;
  /** @param fields of a new space */
  readonly onStart: (order: ImportOrder, fields: readonly Field[]) => void;
}

/** A column of the file. */
interface ColumnChoice {
  readonly name: string;
  /** The field of the same name; null: none. */
  readonly field: Field | null;
  /** The slug of a field, or in a new space a type. Empty: ignore the column. */
  readonly choice: string;
}

const onErrorWords: Readonly<Record<ImportOrder['onError'], string>> = {
  stop: 'stop the import: store all records or none',
  skip: 'skip them and store the others',
};

/** The first rows of the file, and the field that each of its columns goes to. */
export function ImportChoices({ path, file, isNew, onBack, onStart }: ImportChoicesProps): JSX.Element {
  const [unescapes, setUnescapes] = useState(true);
  const unescapeFormulas = `${unescapes}` as const;
  const [onError, setOnError] = useState<ImportOrder['onError']>('stop');
  const [cells, setCells] = useState<CellChoices>({});
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  const { data, problem, loading, reload } = useLoad(
    (signal) => previewFile(path, file, { unescapeFormulas, cells }, signal),
    [unescapes, cells],
  );
  const columns = columnsOf(data ?? noPreview, chosen, isNew);
  const used = columns.filter(({ choice }) => choice !== '');
  const choose: Choose = (name, choice) => {
    const next = new Map(chosen).set(name, choice);
    // a field has at most one column
    for (const other of isNew || choice === '' ? [] : columns)
      if (other.name !== name && other.choice === choice) next.set(other.name, '');
    setChosen(next);
  };
  const start = (order: ImportOrder): void => onStart(order, isNew ? newFields(used) : []);
  const canStart = data === noPreview ? !isNew : used.length > 0;
  return (
    <div class="stack">
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <p role="status">
        <strong>{file.name}</strong>
        {data !== null && `: ${summaryOf(data, used.length, isNew)}`}
        {loading && data === null && ' is being read.'}
      </p>
      {data !== null && columns.length > 0 && <PreviewTable {...{ preview: data, columns, isNew, choose }} />}
      {data !== null && <CellFields {...{ preview: data, cells, onChange: setCells }} />}
      {data !== null && chosen.size === 0 && <ProblemsNote {...data} />}
      <SelectField
        label="Records with problems"
        value={onError}
        onInput={(value) => setOnError(value as ImportOrder['onError'])}
        options={Object.entries(onErrorWords)}
      />
      {formatOf(file.name) === 'csv' && (
        <CheckboxField
          label="Remove apostrophes before formulas"
          hint="An export writes '=1 for =1, so that no spreadsheet runs it. Switch this off for a file where such apostrophes belong to the text."
          checked={unescapes}
          onChange={setUnescapes}
        />
      )}
      <div class="row dialog-actions">
        <Button onClick={onBack}>Another file</Button>
        <Button
          kind="primary"
          disabled={data === null || loading || problem !== null || !canStart}
          onClick={() => start({ onError, unescapeFormulas, cells, columns: mapOf(columns, isNew) })}
        >
          {isNew ? 'Create the fields and import' : 'Import'}
        </Button>
      </div>
    </div>
  );
}

const cellWords: Readonly<Record<CellChoice, (value: string) => string>> = {
  nulls: (value) => `Treat ${value.split(',').join(', ')} as a missing value`,
  true: (value) => `Treat ${value.split(',').join(', ')} as true`,
  decimal: () => 'Numbers have a decimal comma',
  timeZone: (value) => `Times without a zone are those of ${value}`,
};

/** The choices that the file suggests, and why. */
function CellFields({
  preview: { suggested, remarks },
  cells,
  onChange,
}: {
  readonly preview: ImportPreview;
  readonly cells: CellChoices;
  readonly onChange: (cells: CellChoices) => void;
}): JSX.Element {
  return (
    <>
      {remarks.map(({ column, reason }) => (
        <div class="note" role="status" key={column}>
          {cellText(column)?.text} {reason}.
        </div>
      ))}
      {cellChoices.map((name) => {
        const value = suggested[name] ?? cells[name];
        if (value === undefined) return null;
        return (
          <CheckboxField
            key={name}
            label={cellWords[name](value)}
            checked={cells[name] === value}
            onChange={(isChosen) => {
              const { [name]: _, ...others } = cells;
              onChange(isChosen ? { ...others, [name]: value } : others);
            }}
          />
        );
      })}
    </>
  );
}

function columnsOf(
  { structure, columns }: ImportPreview,
  chosen: ReadonlyMap<string, string>,
  isNew: boolean,
): readonly ColumnChoice[] {
  return columns.map(({ name, field: slug }) => {
    const field = structure.recordStructure.find((one) => one.slug === slug) ?? null;
    return { name, field, choice: chosen.get(name) ?? (isNew ? field?.type : field?.slug) ?? '' };
  });
}

function summaryOf(preview: ImportPreview, used: number, isNew: boolean): string {
  const all = preview.columns.length;
  if (all > 0) {
    const goal = isNew ? 'become fields' : 'go to a field';
    if (used === all) return `All ${countOf(all, 'column')} ${goal}.`;
    const rest = all - used;
    return `${used} of ${countOf(all, 'column')} ${goal}; ${rest} ${rest === 1 ? 'is' : 'are'} left out.`;
  }
  if (preview !== noPreview) return 'it has nothing to import.';
  return isNew
    ? 'no preview is available. Add the fields of the record space first.'
    : 'no preview is available. Each column goes to the field of the same name.';
}

/** The mapping of columns whose names do not match. */
function mapOf(columns: readonly ColumnChoice[], isNew: boolean): ImportOrder['columns'] {
  const other = columns.filter(({ field, choice }) => choice === '' || (!isNew && choice !== field?.slug));
  return Object.fromEntries(other.map(({ name, choice }) => [name, choice === '' ? null : choice]));
}

/** The fields of a new space, whose columns have types as choices. */
function newFields(used: readonly ColumnChoice[]): readonly Field[] {
  return used.flatMap(({ field, choice }) =>
    field === null
      ? []
      : [withDigitsOf(field, { ...field, slug: slugOfName(field.name), type: choice as FieldType })],
  );
}

/** A file says how many digits its decimal numbers have; otherwise there is nothing to choose for them. */
function typesFor(field: Field): typeof typeOptions {
  return typeOptions.filter(([type]) => type === field.type || typeEntry(type).hasDigits !== true);
}

type Choose = (column: string, choice: string) => void;

interface PreviewTableProps {
  readonly preview: ImportPreview;
  readonly columns: readonly ColumnChoice[];
  readonly isNew: boolean;
  readonly choose: Choose;
}

function PreviewTable({ preview, columns, isNew, choose }: PreviewTableProps): JSX.Element {
  const { recordStructure: fields } = preview.structure;
  const slugs = fields.map(({ name, slug, type }) => [slug, `${name} (${type})`] as const);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
    <section class="scrolls import-preview" tabIndex={0} aria-label="The first rows">
      <table class="data-table">
        <thead>
          <tr>
            <th scope="col" class="numeric">
              Line
            </th>
            {columns.map(({ name, field, choice }) => (
              <th scope="col" key={name}>
                <div class="cut">{name === '' ? 'no name' : cellText(name)?.text}</div>
                <SelectField
                  hideLabel
                  label={`${isNew ? 'Type of' : 'Field for'} ${name === '' ? 'the column without a name' : cellText(name)?.text}`}
                  value={choice}
                  onInput={(value) => choose(name, value)}
                  options={[
                    ['', isSystemKey(name) ? 'set by the service' : 'leave out'],
                    ...(!isNew ? slugs : field === null ? [] : typesFor(field)),
                  ]}
                />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {preview.rows.map(({ line, values }) => (
            <tr key={line}>
              <th scope="row" class="numeric">
                {line}
              </th>
              {columns.map(({ name }, index) => (
                <td key={name}>{shownValue(values[index])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function isSystemKey(name: string): boolean {
  return (systemKeys as readonly string[]).includes(name);
}

function shownValue(value: unknown): JSX.Element | string {
  const cell = cellText(value);
  return cell === null ? <span class="none">no value</span> : `${cell.text}${cell.cut ? '…' : ''}`;
}

/** Shown until other choices are made: those have other problems. */
function ProblemsNote({ records, columns, problems }: ImportPreview): JSX.Element | null {
  const leftOut = new Set(columns.filter(({ field }) => field === null).map(({ name }) => name));
  const [first, ...more] = problems.filter(({ field }) => field === null || !leftOut.has(field));
  if (first === undefined) return null;
  const { line, field, reason } = first;
  return (
    <div class="note" role="status">
      {countOf(more.length + 1, 'problem')} in the first {countOf(records, 'record')}.{' '}
      {line !== null && `Line ${line}: `}
      {field} {reason}.
    </div>
  );
}
