/**
 * Spreadsheets take any cell that begins so as a formula. Such a text gets an apostrophe in front
 * (OWASP, "CSV Injection"). One that has apostrophes before it gets one more, so that an import can take it off again.
 */
const formula = /^'*[=+\-@\t\r\n]/;

export function guardFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
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
