import { shownName } from '#kernel/errors/shown-name.ts';
import { repeatedKey } from '#kernel/json/repeated-key.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { isObject } from '#records/types/is-object.ts';
import { FileProblem } from './file-problem.ts';

/** A value of parsed JSON, or the problem of its text, as a clause. */
export interface JsonRecord {
  readonly value?: unknown;
  readonly problem?: string;
  /** The line where it begins, from 1. */
  readonly line: number;
}

interface JsonOptions {
  /** Characters that a record may have. */
  readonly largest: number;
}

/** The problem of an object, as a clause. */
export function keyTwice(key: string): string {
  return `the key ${shownName(key)} is given twice`;
}

function parseRecord(text: string, line: number): JsonRecord {
  try {
    const value = parseExactly(text);
    const repeated = isObject(value) ? repeatedKey(text, value) : null;
    return repeated === null ? { value, line } : { problem: keyTwice(repeated), line };
  } catch (error) {
    return { problem: error instanceof RoundedNumber ? error.message : 'it is not valid JSON', line };
  }
}

function assertSize(length: number, { largest }: JsonOptions, line: number): void {
  if (length > largest) throw new FileProblem(line, `a record has more than ${largest} characters`);
}

/** Parses NDJSON, one record on each line, from pieces of text. Empty lines are skipped. */
class NdjsonRecords {
  readonly #options: JsonOptions;
  /** The beginning of a line whose end has not arrived. */
  #begun = '';
  #line = 1;

  constructor(options: JsonOptions) {
    this.#options = options;
  }

  *read(piece: string, isLast: boolean): Generator<JsonRecord> {
    let at = 0;
    for (;;) {
      const found = piece.indexOf('\n', at);
      if (found === -1 && !isLast) break;
      const end = found === -1 ? piece.length : found;
      assertSize(this.#begun.length + end - at, this.#options, this.#line);
      const text = (this.#begun + piece.slice(at, end)).trim();
      this.#begun = '';
      if (text !== '') yield parseRecord(text, this.#line);
      if (found === -1) return;
      this.#line++;
      at = end + 1;
    }
    this.#begun += piece.slice(at);
    assertSize(this.#begun.length, this.#options, this.#line);
  }
}

const inString = /["\\]/g;
/** Characters that matter outside of strings. */
const structural = /["[\]{},\n]/g;

/** Parses the elements of a JSON array from pieces of text. */
class JsonArrayRecords {
  readonly #options: JsonOptions;
  #text = '';
  #line = 1;
  /** The line where the current element begins. */
  #elementLine = 1;
  #at = 0;
  /** How many brackets are open. The first one is the array. */
  #depth = 0;
  #isInString = false;
  #isOver = false;
  #elements = 0;

  constructor(options: JsonOptions) {
    this.#options = options;
  }

  *read(piece: string, isLast: boolean): Generator<JsonRecord> {
    this.#text += piece;
    while (this.#step()) {
      const char = this.#text[this.#at - 1];
      if (this.#depth > 1 || (char !== ',' && char !== ']' && char !== '[')) continue;
      if (this.#depth === 1 && char === '[') {
        if (this.#text.slice(0, this.#at - 1).trim() !== '') throw this.#notAnArray();
        this.#dropRead();
        continue;
      }
      if (this.#depth === 1 && char !== ',') continue;
      const isEnd = this.#depth === 0;
      const text = this.#text.slice(0, this.#at - 1).trim();
      // only an empty array may end without an element
      if (text === '' && !(isEnd && this.#elements === 0))
        throw new FileProblem(this.#line, 'an element of the array is missing');
      assertSize(text.length, this.#options, this.#elementLine);
      if (text !== '') yield parseRecord(text, this.#elementLine);
      this.#elements++;
      this.#dropRead();
      if (isEnd) this.#isOver = true;
    }
    assertSize(this.#text.length, this.#options, this.#line);
    if (this.#isOver && this.#text.trim() !== '')
      throw new FileProblem(this.#line, 'text follows the JSON array');
    if (this.#isOver || !isLast) return;
    throw this.#depth === 0 ? this.#notAnArray() : new FileProblem(this.#line, 'the JSON array has no end');
  }

  #notAnArray(): FileProblem {
    return new FileProblem(this.#line, 'it is not a JSON array');
  }

  #dropRead(): void {
    this.#text = this.#text.slice(this.#at);
    const gap = /^\s*/.exec(this.#text)?.[0] ?? '';
    this.#elementLine = this.#line + gap.split('\n').length - 1;
    this.#at = 0;
  }

  /** Moves past the next structural character; false: the text has no more of them yet. */
  #step(): boolean {
    if (this.#isOver) return false;
    const text = this.#text;
    for (;;) {
      const pattern = this.#isInString ? inString : structural;
      pattern.lastIndex = this.#at;
      const found = pattern.exec(text);
      if (found === null) {
        this.#at = text.length;
        if (this.#depth === 0 && text.trim() !== '') throw this.#notAnArray();
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
        if (this.#depth++ === 0 && char === '{') throw this.#notAnArray();
        return true;
      } else if (char === ']' || char === '}') {
        if (this.#depth-- === 0) throw this.#notAnArray();
        return true;
      } else if (this.#depth === 0) throw this.#notAnArray();
      else return true;
    }
  }
}

export type JsonRecords = NdjsonRecords | JsonArrayRecords;

/** A parser for a JSON format. */
export function jsonRecords(format: 'ndjson' | 'json', options: JsonOptions): JsonRecords {
  return format === 'json' ? new JsonArrayRecords(options) : new NdjsonRecords(options);
}
