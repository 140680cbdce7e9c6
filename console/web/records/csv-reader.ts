/** A cell's text; null for an empty one without quotes, which is no value. `""` is the empty text. */
export type CsvCell = string | null;

export interface CsvRow {
  /** The line it begins on, from 1, as editors count. */
  readonly line: number;
  readonly cells: readonly CsvCell[];
  /** A problem of the row as a whole. */
  readonly problem?: string;
}

const longestRow = 16 * 1024 * 1024;

/**
 * Reads CSV (RFC 4180) in pieces of any size. Lines may end with CRLF, LF or CR, and empty ones are passed over. A quote
 * within a cell that does not begin with one is taken literally, as spreadsheets do.
 */
export class CsvReader {
  readonly #delimiter: string;
  #state: 'cell' | 'plain' | 'quoted' | 'quote seen' = 'cell';
  #afterReturn = false;
  #line = 1;
  #rowLine = 1;
  #cells: CsvCell[] = [];
  #text = '';
  #size = 0;

  constructor({ delimiter }: { readonly delimiter: string }) {
    this.#delimiter = delimiter;
  }

  feed(piece: string): CsvRow[] {
    const rows: CsvRow[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const char = piece[at];
      const ends = char === '\n' || char === '\r';
      // the LF of a CRLF, which the CR has counted
      const secondHalf = char === '\n' && this.#afterReturn;
      this.#afterReturn = char === '\r';
      if (ends && !secondHalf) this.#line++;
      switch (this.#state) {
        case 'quoted':
          if (char !== '"') break;
          this.#take(piece.slice(from, at));
          this.#state = 'quote seen';
          break;
        case 'quote seen':
          if (char === '"') {
            // two of them stand for one
            from = at;
            this.#state = 'quoted';
            break;
          }
          if (char === this.#delimiter) this.#endCell(true);
          else if (ends) this.#endRow(rows, true);
          else {
            from = at;
            this.#state = 'plain';
          }
          break;
        default:
          if (char === '"' && this.#state === 'cell') {
            from = at + 1;
            this.#state = 'quoted';
          } else if (char === this.#delimiter) {
            if (this.#state === 'plain') this.#take(piece.slice(from, at));
            this.#endCell(false);
          } else if (ends) {
            if (this.#state === 'plain') this.#take(piece.slice(from, at));
            if (!secondHalf) this.#endRow(rows, false);
          } else if (this.#state === 'cell') {
            from = at;
            this.#state = 'plain';
          }
      }
    }
    if (this.#state === 'plain' || this.#state === 'quoted') this.#take(piece.slice(from));
    return rows;
  }

  /** The text after the last line break. */
  end(): CsvRow[] {
    const rows: CsvRow[] = [];
    if (this.#state === 'quoted') {
      this.#endCell(true);
      rows.push({ line: this.#rowLine, cells: this.#cells, problem: 'A quoted cell is never closed' });
    } else {
      this.#endRow(rows, this.#state === 'quote seen');
    }
    return rows;
  }

  #take(text: string): void {
    this.#text += text;
    this.#size += text.length;
    if (this.#size > longestRow) {
      throw new RangeError(`The row at line ${this.#rowLine} has more than 16 MiB: a quote may be missing`);
    }
  }

  #endCell(quoted: boolean): void {
    this.#cells.push(this.#text === '' && !quoted ? null : this.#text);
    this.#text = '';
    this.#state = 'cell';
  }

  #endRow(rows: CsvRow[], quoted: boolean): void {
    this.#endCell(quoted);
    if (this.#cells.length > 1 || this.#cells[0] !== null) {
      rows.push({ line: this.#rowLine, cells: this.#cells });
    }
    this.#cells = [];
    this.#size = 0;
    this.#rowLine = this.#line;
  }
}

/** The separator of a file, by its first line: the one that comes most often outside quotes. */
export function sniffDelimiter(text: string): string {
  const counts = new Map([',', ';', '\t', '|'].map((candidate) => [candidate, 0]));
  let quoted = false;
  for (const char of text) {
    if (char === '"') quoted = !quoted;
    else if (!quoted && (char === '\n' || char === '\r')) break;
    else if (!quoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  return [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best))[0];
}
