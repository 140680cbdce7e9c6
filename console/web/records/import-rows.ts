import type { Field } from '../projects/structure.ts';
import { systemKeys } from '../projects/structure.ts';
import type { CsvCell } from './csv-reader.ts';
import { unguardFormula } from './csv-writer.ts';
import { readText } from './record-form.ts';

/** A row of a file, before it is known to be a record. */
export interface SourceRow {
  readonly line: number;
  readonly cells?: readonly CsvCell[];
  readonly record?: unknown;
  readonly problem?: string;
}

/** A record that is ready to be sent, or why there is none. */
export type ImportRow =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly problem: string };

/** Columns of the file, or keys of its records, and the field that each goes to; null: it is left out. */
export type ColumnMap = readonly { readonly column: string; readonly field: string | null }[];

/** Goes by names first, then by slugs, then by names in any case. A field is taken once. */
export function mapColumns(columns: readonly string[], fields: readonly Field[]): ColumnMap {
  const taken = new Set<string>();
  const find = (column: string): Field | undefined => {
    const word = unguardFormula(column.trim());
    const free = fields.filter(({ name }) => !taken.has(name));
    return (
      free.find(({ name }) => name === column.trim()) ??
      free.find(({ name }) => name === word) ??
      free.find(({ slug }) => slug === word) ??
      free.find(({ name }) => name.toLowerCase() === word.toLowerCase())
    );
  };
  return columns.map((column) => {
    const field = isSystemColumn(column) ? undefined : find(column);
    if (field !== undefined) taken.add(field.name);
    return { column, field: field?.name ?? null };
  });
}

/** The service sets these itself. */
export function isSystemColumn(column: string): boolean {
  return (systemKeys as readonly string[]).includes(column.trim());
}

export interface RowReader {
  readonly fields: readonly Field[];
  readonly columns: ColumnMap;
  /** Removes the apostrophe that an export puts before a text that a spreadsheet would take as a formula. */
  readonly unguard: boolean;
}

/** Makes a record of a row; every problem that can be seen here is named, so that it need not be sent. */
export function readRow(row: SourceRow, reader: RowReader): ImportRow {
  const { line } = row;
  if (row.problem !== undefined) return { line, problem: row.problem };
  const problems: string[] = [];
  const values =
    row.cells === undefined ? readKeys(row.record, reader, problems) : readCells(row.cells, reader, problems);
  if (problems.length === 0) problems.push(...missingFields(values, reader.fields));
  if (problems.length > 0) return { line, problem: problems.join(' ') };
  if (values.size === 0) return { line, problem: 'The row has no value for any field.' };
  return { line, text: JSON.stringify(Object.fromEntries(values)) };
}

function readCells(
  cells: readonly CsvCell[],
  { fields, columns, unguard }: RowReader,
  problems: string[],
): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  if (cells.length > columns.length) {
    problems.push(`The row has ${cells.length} cells, and the file ${columns.length} columns.`);
  }
  for (const [index, { field: name }] of columns.entries()) {
    const cell = cells[index] ?? null;
    const field = fields.find((field) => field.name === name);
    // an empty text is a value of TEXT alone
    if (cell === null || field === undefined || (cell === '' && field.type !== 'TEXT')) continue;
    const reading = readText(field.type, unguard ? unguardFormula(cell) : cell);
    if ('problem' in reading) problems.push(`${field.name}: ${reading.problem}`);
    else values.set(field.name, reading.value);
  }
  return values;
}

function readKeys(
  record: unknown,
  { fields, columns }: RowReader,
  problems: string[],
): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    problems.push('This is no JSON object.');
    return values;
  }
  const mapped = new Map(columns.map(({ column, field }) => [column, field]));
  for (const [key, value] of Object.entries(record)) {
    const name = mapped.get(key);
    if (name === undefined && !isSystemColumn(key)) problems.push(`${key}: the preview had no such key.`);
    const field = fields.find((field) => field.name === name);
    if (field === undefined || value === null) continue;
    const problem = typeProblem(field.type, value);
    if (problem === null) values.set(field.name, value);
    else problems.push(`${field.name}: ${problem}`);
  }
  return values;
}

function typeProblem(type: Field['type'], value: unknown): string | null {
  const is = Array.isArray(value)
    ? 'ARRAY'
    : (
        { string: 'TEXT', number: 'NUMBER', boolean: 'BOOLEAN', object: 'OBJECT' } as Readonly<
          Record<string, string>
        >
      )[typeof value];
  return is === type || (type === 'NUMBER' && value === '') ? null : `${is} where ${type} is wanted.`;
}

function missingFields(values: ReadonlyMap<string, unknown>, fields: readonly Field[]): string[] {
  return fields
    .filter(
      ({ name, required, defaultValue }) => required && (defaultValue ?? null) === null && !values.has(name),
    )
    .map(({ name }) => `${name}: This field is required.`);
}
