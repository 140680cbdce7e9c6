import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { FileProblem } from './file-problem.ts';

/** A value of parsed JSON, or what is wrong with its text, as the end of a sentence. */
export interface JsonRecord {
  readonly value?: unknown;
  readonly problem?: string;
  /** From 1, where it begins. */
  readonly line: number;
}

interface Options {
  /** Characters of a record. */
  readonly largest: number;
}

function parsed(text: string, line: number): JsonRecord {
  try {
    return { value: parseExactly(text), line };
  } catch (error) {
    return { problem: error instanceof RoundedNumber ? error.message : 'it is not valid JSON', line };
  }
}

function assertSize(length: number, { largest }: Options, line: number): void {
  if (length > largest) throw new FileProblem(line, `a record has more than ${largest} characters`);
}

/** Records of NDJSON, one on each line, from a text that comes in pieces. Empty lines are passed over. */
class NdjsonRecords {
  readonly #options: Options;
  #text = '';
  #line = 1;

  constructor(options: Options) {
    this.#options = options;
  }

  *read(piece: string, isLast: boolean): Generator<JsonRecord> {
    this.#text += piece;
    let at = 0;
    for (;;) {
      const found = this.#text.indexOf('\n', at);
      if (found === -1 && !isLast) break;
      const end = found === -1 ? this.#text.length : found;
      assertSize(end - at, this.#options, this.#line);
      const text = this.#text.slice(at, end).trim();
      if (text !== '') yield parsed(text, this.#line);
      if (found === -1) return;
      this.#line++;
      at = end + 1;
    }
    this.#text = this.#text.slice(at);
    assertSize(this.#text.length, this.#options, this.#line);
  }
}

const inString = /["\\]/g;
/** What matters outside of strings. */
const structural = /["[\]{},\n]/g;

/** Elements of a JSON array, from a text that comes in pieces. */
class JsonArrayRecords {
  readonly #options: Options;
  #text = '';
  #line = 1;
  /** Of the element that has begun. */
  #begun = 1;
  #at = 0;
  /** Brackets that are open: the array is the first. */
  #depth = 0;
  #isInString = false;
  #isOver = false;
  #elements = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  *read(piece: string, isLast: boolean): Generator<JsonRecord> {
    this.#text += piece;
    while (this.#step()) {
      const char = this.#text[this.#at - 1];
      if (this.#depth > 1 || (char !== ',' && char !== ']' && char !== '[')) continue;
      if (this.#depth === 1 && char === '[') {
        if (this.#text.slice(0, this.#at - 1).trim() !== '') throw this.#noArray();
        this.#cut();
        continue;
      }
      if (this.#depth === 1 && char !== ',') continue;
      const isEnd = this.#depth === 0;
      const text = this.#text.slice(0, this.#at - 1).trim();
      // only an empty array may end without an element
      if (text === '' && !(isEnd && this.#elements === 0))
        throw new FileProblem(this.#line, 'an element of the array is missing');
      assertSize(text.length, this.#options, this.#begun);
      if (text !== '') yield parsed(text, this.#begun);
      this.#elements++;
      this.#cut();
      if (isEnd) this.#isOver = true;
    }
    assertSize(this.#text.length, this.#options, this.#line);
    if (this.#isOver && this.#text.trim() !== '')
      throw new FileProblem(this.#line, 'something follows the JSON array');
    if (this.#isOver || !isLast) return;
    throw this.#depth === 0 ? this.#noArray() : new FileProblem(this.#line, 'the JSON array has no end');
  }

  #noArray(): FileProblem {
    return new FileProblem(this.#line, 'it is no JSON array');
  }

  #cut(): void {
    this.#text = this.#text.slice(this.#at);
    const gap = /^\s*/.exec(this.#text)?.[0] ?? '';
    this.#begun = this.#line + gap.split('\n').length - 1;
    this.#at = 0;
  }

  /** Goes behind the next character that matters; false: there is none yet. */
  #step(): boolean {
    if (this.#isOver) return false;
    const text = this.#text;
    for (;;) {
      const pattern = this.#isInString ? inString : structural;
      pattern.lastIndex = this.#at;
      const found = pattern.exec(text);
      if (found === null) {
        this.#at = text.length;
        if (this.#depth === 0 && text.trim() !== '') throw this.#noArray();
        return false;
      }
      const [char] = found;
      if (this.#isInString) {
        if (char === '\\') {
          if (found.index + 1 >= text.length) {
            this.#at = found.index;
            return false;
          }
          this.#at = found.index + 2;
        } else {
          this.#at = found.index + 1;
          this.#isInString = false;
        }
        continue;
      }
      this.#at = found.index + 1;
      if (char === '"') this.#isInString = true;
      else if (char === '\n') this.#line++;
      else if (char === '[' || char === '{') {
        if (this.#depth++ === 0 && char === '{') throw this.#noArray();
        return true;
      } else if (char === ']' || char === '}') {
        if (this.#depth-- === 0) throw this.#noArray();
        return true;
      } else if (this.#depth === 0) throw this.#noArray();
      else return true;
    }
  }
}

export type JsonRecords = NdjsonRecords | JsonArrayRecords;

/** What reads the records of a file of a format. */
export function jsonRecords(format: 'ndjson' | 'json', options: Options): JsonRecords {
  return format === 'json' ? new JsonArrayRecords(options) : new NdjsonRecords(options);
}
