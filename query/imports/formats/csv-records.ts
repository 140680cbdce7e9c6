import { FileProblem } from './file-problem.ts';
import { guessDelimiter } from './guess-delimiter.ts';

/** Texts of a record in the order of its columns; null: an empty cell without quotes. */
export interface CsvRecord {
  readonly cells: readonly (string | null)[];
  /** From 1, where it begins. */
  readonly line: number;
}

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** A first line by which spreadsheets know the delimiter. */
const saidDelimiter = /^sep=([^"\r\n])(?:\r\n|\r|\n)/;

/**
 * Records of CSV (RFC 4180) from a text that comes in pieces. Lines end with CR, LF or both, also mixed; empty ones are
 * passed over.
 */
export class CsvRecords {
  readonly #largest: number;
  #delimiter: string | null;
  #text = '';
  #line = 1;
  /** Whether the last end of a line was CR: an LF may belong to it. */
  #isReturned = false;
  /** Cells without quotes that are null. */
  nulls: ReadonlySet<string> = new Set();

  /** @param options.delimiter null: the likeliest one of the first lines @param options.largest characters of a record */
  constructor({ delimiter, largest }: { readonly delimiter: string | null; readonly largest: number }) {
    this.#delimiter = delimiter;
    this.#largest = largest;
  }

  /** Null: nothing said it so far. */
  get delimiter(): string | null {
    return this.#delimiter;
  }

  /** The records that are whole with this piece. @param isLast nothing follows */
  *read(piece: string, isLast: boolean): Generator<CsvRecord> {
    this.#text += piece;
    if (this.#delimiter === null) {
      if (!isLast && !/[\r\n]/.test(this.#text)) return this.#checkSize();
      const [said, delimiter] = saidDelimiter.exec(this.#text) ?? [];
      const isEnough = isLast || this.#text.length > this.#largest;
      const guessed = delimiter ?? guessDelimiter(this.#text, isEnough);
      if (guessed === null) return;
      if (said !== undefined) {
        this.#text = this.#text.slice(said.length);
        this.#line++;
      }
      this.#delimiter = guessed;
    }
    let at = 0;
    for (;;) {
      at = this.#passEmpty(at);
      const begun = at;
      const line = this.#line;
      const cells: (string | null)[] = [];
      const end = this.#record(cells, at, isLast);
      if (end === null) {
        this.#line = line;
        break;
      }
      this.#isReturned = false;
      if (end - begun > this.#largest) throw this.#tooLarge(line);
      at = end;
      yield { cells, line };
    }
    this.#text = this.#text.slice(at);
    if (isLast && this.#text !== '') throw new FileProblem(this.#line, 'a quoted cell has no end');
    this.#checkSize();
  }

  /** Of what waits for the next piece. */
  #checkSize(): void {
    if (this.#text.length > this.#largest) throw this.#tooLarge(this.#line);
  }

  #tooLarge(line: number): FileProblem {
    return new FileProblem(
      line,
      `a record has more than ${this.#largest} characters, or a quote without its end`,
    );
  }

  /** Passes over ends of lines, and lines of nothing else. */
  #passEmpty(from: number): number {
    for (let at = from; ; at++) {
      const code = this.#text.charCodeAt(at);
      if (code !== lineFeed && code !== carriageReturn) return at;
      // of CR and LF one counts
      if (code === carriageReturn || !this.#isReturned) this.#line++;
      this.#isReturned = code === carriageReturn;
    }
  }

  /** Fills in the cells. Answers where the record ends, before its line end; null: it is not whole. */
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
          throw new FileProblem(this.#line, 'text follows the quotes of a cell');
      } else {
        const begun = at;
        while (at < length) {
          const code = text.charCodeAt(at);
          if (code === separator || code === lineFeed || code === carriageReturn) break;
          at++;
        }
        cells.push(at === begun ? null : this.#unquoted(text.slice(begun, at)));
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
