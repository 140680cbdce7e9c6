import { invalidBody } from '#kernel/errors/catalogue.ts';

/** Most values of a body; a parsed value may take a hundred bytes. */
export const maxBodyValues = 2_500_000;
/** Most values of a record, or of a body other than an array: these are parsed in one go. */
export const maxRecordValues = 100_000;
/** Most members of an object: with this many different keys V8 takes microseconds for each access. */
export const maxObjectMembers = 10_000;
/** Bytes of an array that are parsed in one go, unless an element is longer. */
const defaultPiece = 64 * 1024;

const lineFeed = 0x0a;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Scans a JSON text while it arrives, before it is parsed: how many values it has (three bytes of text can take sixty
 * of memory), and where an outermost array can be cut to be parsed in pieces. It only knows brackets, commas and
 * strings; the parser refuses invalid JSON.
 */
export class JsonScanner {
  /** Offsets of commas between elements of the outermost array. */
  readonly cuts: number[] = [];
  /** Commas and opening brackets: an upper bound of the number of values. */
  values = 0;
  #offset = 0;
  /** For each open bracket, the members of its object so far. */
  readonly #members: number[] = [];
  #isArray = false;
  #inString = false;
  #escaped = false;
  /** `values` at the start of the current element of the outermost array. */
  #elementStart = 0;
  #lastCut = 0;
  readonly #pieceBytes: number;
  readonly #isLines: boolean;

  /** @param args.isLines whether the text is NDJSON: its lines are not elements of an array, and each counts as a value */
  constructor({ pieceBytes = defaultPiece, isLines = false } = {}) {
    this.#pieceBytes = pieceBytes;
    this.#isLines = isLines;
  }

  /** Scans the next bytes. Throws 400 when there are too many values. */
  feed(bytes: Uint8Array): void {
    const { length } = bytes;
    let inString = this.#inString;
    let i = 0;
    if (this.#escaped && length > 0) {
      this.#escaped = false;
      i = 1;
    }
    for (; i < length; i++) {
      let byte = bytes[i] as number;
      if (inString) {
        // most bytes belong to strings, so this loop is kept minimal
        while (byte !== quote && byte !== backslash && ++i < length) byte = bytes[i] as number;
        if (byte === quote) inString = false;
        else if (byte === backslash) {
          // the next character is escaped
          i++;
          this.#escaped = i >= length;
        }
      } else if (byte === quote) inString = true;
      else if (byte === comma) this.#separate(this.#offset + i);
      else if (byte === colon) this.#countMember();
      else if (byte === openBrace || byte === openBracket) this.#open(byte);
      else if (byte === closeBrace || byte === closeBracket) this.#members.pop();
      else if (byte === lineFeed && this.#isLines) this.#beginLine();
    }
    this.#inString = inString;
    this.#offset += length;
  }

  #beginLine(): void {
    this.#count();
    this.#elementStart = this.values;
    this.#members.length = 0;
  }

  #open(byte: number): void {
    if (this.values === 0) this.#isArray = byte === openBracket;
    this.#members.push(0);
    this.#count();
  }

  #separate(at: number): void {
    this.#count();
    if (this.#members.length !== 1 || !this.#isArray) return;
    this.#elementStart = this.values;
    if (at - this.#lastCut < this.#pieceBytes) return;
    this.cuts.push(at);
    this.#lastCut = at;
  }

  #countMember(): void {
    const innermost = this.#members.length - 1;
    if (innermost < 0) return;
    const members = (this.#members[innermost] as number) + 1;
    if (members > maxObjectMembers) throw invalidBody(`An object has more than ${maxObjectMembers} keys`);
    this.#members[innermost] = members;
  }

  #count(): void {
    this.values++;
    if (this.values > maxBodyValues) {
      throw invalidBody(`Request body has more than ${maxBodyValues} values: send it in several requests`);
    }
    if (this.values - this.#elementStart > maxRecordValues) {
      throw invalidBody(`A record has more than ${maxRecordValues} values`);
    }
  }
}
