import { isUtf8 } from 'node:buffer';

const quote = 0x22;
const lineFeed = 0x0a;
const space = 0x20;
const tab = 0x09;
const carriageReturn = 0x0d;

const isBlank = (byte: number | undefined): boolean => byte === space || byte === tab;

/** Where the next byte lies. */
const place = { cellStart: 0, unquoted: 1, quoted: 2, quoteEnd: 3 } as const;

/** Longer cells are not compared with words for null. Bytes. */
const longestWord = 64;

/**
 * Checks that bytes are CSV that an import accepts (csv-records.ts): the engine also accepts other texts, such as a quote
 * that never ends, and refuses blank lines. It only looks at quotes, delimiters and line ends, at 300 to 700 MB/s.
 */
export class CsvShape {
  readonly #delimiter: number;
  readonly #columns: number;
  readonly #nulls: ReadonlySet<string>;
  #place: (typeof place)[keyof typeof place] = place.cellStart;
  #cells = 0;
  /** Whether the last line ended with CR: an LF may belong to it. */
  #wasCarriageReturn = false;
  /** The first bytes of a character that the next chunk completes. */
  #cut: Uint8Array = Buffer.alloc(0);
  /** The bytes of the current quoted cell, as long as it may be a word for null. */
  #quoted: Buffer | null = null;
  /** The last byte of the chunk before. */
  #last: number | undefined;
  /** Valid records, with the header. */
  records = 0;
  blankLines = 0;
  /** Whether a cell without quotes begins or ends with a blank, which the engine drops unless it is asked to keep them. */
  hasBlanks = false;
  /** Whether a quoted cell is a word for null. An import accepts it as a text. */
  hasQuotedNull = false;
  isGood = true;

  /** @param nulls words that no quoted cell may be: the engine would take them for null, despite the quotes */
  constructor({
    delimiter,
    columns,
    nulls,
  }: { readonly delimiter: string; readonly columns: number; readonly nulls: readonly string[] }) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#columns = columns;
    this.#nulls = new Set(nulls);
  }

  read(bytes: Uint8Array): void {
    if (!this.#checkUtf8(bytes)) this.isGood = false;
    const delimiter = this.#delimiter;
    const { length } = bytes;
    let state = this.#place;
    let quotedFrom = 0;
    for (let at = 0; at < length && this.isGood; at++) {
      let byte = bytes[at] as number;
      if (state === place.quoted) {
        while (byte !== quote && ++at < length) byte = bytes[at] as number;
        if (at === length) break;
        if (this.#quoted !== null) this.#keepQuoted(bytes, quotedFrom, at);
        state = place.quoteEnd;
        continue;
      }
      if (state === place.unquoted) {
        while (byte !== delimiter && byte !== lineFeed && byte !== carriageReturn && ++at < length)
          byte = bytes[at] as number;
        if (at === length) break;
        if (isBlank(at === 0 ? this.#last : bytes[at - 1])) this.hasBlanks = true;
      } else if (state === place.cellStart && isBlank(byte) && byte !== delimiter) this.hasBlanks = true;
      if (byte === delimiter) {
        this.#cells++;
        if (this.#quoted !== null) this.#endQuoted();
        state = place.cellStart;
      } else if (byte === lineFeed || byte === carriageReturn) {
        if (this.#quoted !== null) this.#endQuoted();
        this.#endLine(byte, state === place.cellStart);
        state = place.cellStart;
      } else if (byte === quote) {
        // two quotes in a row are a quote of the text, which is then no word for null
        this.#quoted = state === place.cellStart && this.#nulls.size > 0 ? Buffer.alloc(0) : null;
        quotedFrom = at + 1;
        state = place.quoted;
      } else if (state === place.quoteEnd) this.isGood = false;
      else state = place.unquoted;
    }
    if (state === place.quoted && this.#quoted !== null) this.#keepQuoted(bytes, quotedFrom, length);
    this.#place = state;
    this.#last = bytes[length - 1] ?? this.#last;
  }

  end(): void {
    if (this.#place === place.quoted || this.#cut.byteLength > 0) this.isGood = false;
    if (this.#quoted !== null) this.#endQuoted();
    if (this.#place === place.unquoted && isBlank(this.#last)) this.hasBlanks = true;
    if (this.#place !== place.cellStart || this.#cells > 0) this.#endLine(lineFeed, false);
  }

  #endLine(byte: number, isCellStart: boolean): void {
    if (!isCellStart || this.#cells > 0) {
      if (this.#cells + 1 !== this.#columns) this.isGood = false;
      this.records++;
      this.#cells = 0;
      this.#wasCarriageReturn = byte === carriageReturn;
      return;
    }
    // an LF after a CR belongs to it
    if (byte === carriageReturn || !this.#wasCarriageReturn) this.blankLines++;
    this.#wasCarriageReturn = byte === carriageReturn;
  }

  #keepQuoted(bytes: Uint8Array, from: number, to: number): void {
    if (this.#quoted === null) return;
    const isShort = this.#quoted.byteLength + to - from <= longestWord;
    this.#quoted = isShort ? Buffer.concat([this.#quoted, bytes.subarray(from, to)]) : null;
  }

  #endQuoted(): void {
    if (this.#quoted !== null && this.#nulls.has(this.#quoted.toString())) {
      this.hasQuotedNull = true;
      this.isGood = false;
    }
    this.#quoted = null;
  }

  #checkUtf8(bytes: Uint8Array): boolean {
    const whole = this.#cut.byteLength > 0 ? Buffer.concat([this.#cut, bytes]) : bytes;
    let end = whole.length;
    // the chunk may end with up to three bytes of an incomplete character
    for (let back = 1; back <= 3 && back <= whole.length; back++) {
      const byte = whole[whole.length - back] as number;
      if ((byte & 0xc0) === 0x80) continue;
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
      if (length > back) end -= back;
      break;
    }
    this.#cut = Buffer.from(whole.subarray(end));
    return isUtf8(whole.subarray(0, end));
  }
}
