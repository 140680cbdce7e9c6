import type { Field } from '../projects/structure.ts';

/**
 * Spreadsheets take any cell that begins so as a formula. Such a text gets an apostrophe in front
 * (OWASP, "CSV Injection"). One that has apostrophes before it gets one more, so that an import can take it off again.
 */
const formula = /^'*[=+\-@\t\r\n]/;
const guarded = /^''*[=+\-@\t\r\n]/;

export function guardFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unguardFormula(text: string): string {
  return guarded.test(text) ? text.slice(1) : text;
}

/** A row of CSV (RFC 4180) with its line break. Null is an empty cell, and the empty text is `""`. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(text: string | null): string {
  if (text === null) return '';
  if (text !== '' && !/[",\r\n]/.test(text) && text.trim() === text) return text;
  return `"${text.replaceAll('"', '""')}"`;
}

type ReadRecord = Readonly<Record<string, unknown>>;

/** Columns of a space: its fields but the hashed ones, which no answer has, between `id` and the times. */
export function csvColumns(fields: readonly Field[]): readonly string[] {
  return ['id', ...fields.filter(({ hashed }) => !hashed).map(({ name }) => name), 'createdAt', 'updatedAt'];
}

export interface CsvStyle {
  /** Texts and names of fields that spreadsheets would run as formulas get an apostrophe. */
  readonly guard: boolean;
  /** A byte order mark first, because spreadsheets recognise UTF-8 by it. */
  readonly mark: boolean;
}

export function csvHeader(columns: readonly string[], { guard, mark }: CsvStyle): string {
  return `${mark ? '\ufeff' : ''}${csvLine(guard ? columns.map(guardFormula) : columns)}`;
}

export function csvRecord(columns: readonly string[], record: ReadRecord, { guard }: CsvStyle): string {
  return csvLine(columns.map((column) => valueCell(record[column], guard)));
}

/** Numbers are no formulas: `-5` stays as it is. */
function valueCell(value: unknown, guard: boolean): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return guard ? guardFormula(value) : value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
