import type { Field } from '../projects/structure.ts';

/**
 * Spreadsheets take any cell that begins so as a formula. Such a text gets an apostrophe in front
 * (OWASP, "CSV Injection"). One that has apostrophes before it gets one more, so that an import can take it off again.
 */
const formula = /^'*[=+\-@\t\r]/;
const guarded = /^''*[=+\-@\t\r]/;

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

export function csvRecord(columns: readonly string[], record: ReadRecord): string {
  return csvLine(columns.map((column) => valueCell(record[column])));
}

/** Numbers are no formulas: `-5` stays as it is. */
function valueCell(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return guardFormula(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
