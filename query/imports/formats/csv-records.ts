import { FileProblem } from './file-problem.ts';
import { guessDelimiter } from './guess-delimiter.ts';

/** A record of CSV. */
export interface CsvRecord {
  /** Texts in the order of the columns; null: an empty cell without quotes. */
  readonly cells: readonly (string | null)[];
  /** The line where it begins, from 1. */
  readonly line: number;
}

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** A first line that names the delimiter, as spreadsheets write it. */
export const delimiterLine = /^sep=([^"\r\n])(?:\r\n|\r|\n)/;

/**
 * Parses CSV (RFC 4180) from pieces of text. Lines may end with CR, LF or both, even in the same file. Empty lines are
 * skipped.
 */
export class CsvRecords {
  readonly #largest: number;
  #delimiter: string | null;
  #text = '';
  #line = 1;
  /** Whether the last line ended with CR: an LF may belong to it. */
  #wasCarriageReturn = false;
  /** Unquoted words that mean null. */
  nulls: ReadonlySet<string> = new Set();

  /** @param options.delimiter null: guess it from the first lines @param options.largest characters that a record may have */
  constructor({ delimiter, largest }: { readonly delimiter: string | null; readonly largest: number }) {
    this.#delimiter = delimiter;
    this.#largest = largest;
  }

  /** Null: not known yet. */
  get delimiter(): string | null {
    return this.#delimiter;
  }

  /** The records that this piece completes. @param isLast whether the text ends with it */
  *read(piece: string, isLast: boolean): Generator<CsvRecord> {
    this.#text += piece;
    if (this.#delimiter === null) {
      if (!isLast && !/[\r\n]/.test(this.#text)) return this.#checkSize();
      const [prefix, delimiter] = delimiterLine.exec(this.#text) ?? [];
      const isEnough = isLast || this.#text.length > this.#largest;
      const guessed = delimiter ?? guessDelimiter(this.#text, isEnough);
      if (guessed === null) return;
      if (prefix !== undefined) {
        this.#text = this.#text.slice(prefix.length);
        this.#line++;
      }
      this.#delimiter = guessed;
    }
    let at = 0;
    for (;;) {
      at = this.#skipLineEnds(at);
      const start = at;
      const line = this.#line;
      const cells: (string | null)[] = [];
      const end = this.#record(cells, at, isLast);
      if (end === null) {
        this.#line = line;
        break;
      }
      this.#wasCarriageReturn = false;
      if (end - start > this.#largest) throw this.#tooLarge(line);
      at = end;
      yield { cells, line };
    }
    this.#text = this.#text.slice(at);
    if (isLast && this.#text !== '') throw new FileProblem(this.#line, 'a quoted cell has no end');
    this.#checkSize();
  }

  /** Checks the size of the incomplete record. */
  #checkSize(): void {
    if (this.#text.length > this.#largest) throw this.#tooLarge(this.#line);
  }

  #tooLarge(line: number): FileProblem {
    return new FileProblem(
      line,
      `a record has more than ${this.#largest} characters, or a quote that never ends`,
    );
  }

  /** Skips line ends, and thereby empty lines. */
  #skipLineEnds(from: number): number {
    for (let at = from; ; at++) {
      const code = this.#text.charCodeAt(at);
      if (code !== lineFeed && code !== carriageReturn) return at;
      // CR LF is one line end
      if (code === carriageReturn || !this.#wasCarriageReturn) this.#line++;
      this.#wasCarriageReturn = code === carriageReturn;
    }
  }

  /** Adds the cells of a record. Returns the position of its line end; null: the record is incomplete. */
  #record(cells: (string | null)[], from: number, isLast: boolean): number | null {
    const text = this.#text;
    const { length } = text;
    if (from >= length) return null;
    const separator = (this.#delimiter as string).charCodeAt(0);
    let at = from;
    for (;;) {
      if (text.charCodeAt(at) === quote) {
        const end = this.#quoted(cells, at);
        if (end === null) return null;
        at = end;
        const code = text.charCodeAt(at);
        if (at < length && code !== separator && code !== lineFeed && code !== carriageReturn)
          throw new FileProblem(this.#line, 'text follows a quoted cell');
      } else {
        const start = at;
        while (at < length) {
          const code = text.charCodeAt(at);
          if (code === separator || code === lineFeed || code === carriageReturn) break;
          at++;
        }
        cells.push(at === start ? null : this.#unquoted(text.slice(start, at)));
      }
      if (at >= length) return isLast ? at : null;
      if (text.charCodeAt(at) !== separator) return at;
      at++;
      if (at >= length && !isLast) return null;
    }
  }

  #unquoted(cell: string): string | null {
    return this.nulls.size > 0 && this.nulls.has(cell) ? null : cell;
  }

  #quoted(cells: (string | null)[], from: number): number | null {
    const text = this.#text;
    let at = from + 1;
    let value = '';
    for (;;) {
      const end = text.indexOf('"', at);
      if (end === -1) return null;
      value += text.slice(at, end);
      if (text.charCodeAt(end + 1) !== quote) {
        if (value.includes('\n')) this.#line += value.split('\n').length - 1;
        cells.push(value);
        return end + 1;
      }
      value += '"';
      at = end + 2;
    }
  }
}
