export interface JsonElement {
  /** The line it begins on, from 1. */
  readonly line: number;
  readonly text: string;
}

const longestElement = 16 * 1024 * 1024;
const space = /\s/;

/**
 * Takes a file of JSON apart, in pieces of any size: an array of records, or records one after another, as in JSON Lines.
 * Each comes as its text, so that one that can't be parsed is one bad row, and the others are read on.
 */
export class JsonRecordsReader {
  #inArray: boolean | null = null;
  #done = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #text: string | null = null;
  #line = 1;
  #startLine = 1;

  feed(piece: string): JsonElement[] {
    const elements: JsonElement[] = [];
    let from = 0;
    const finish = (to: number): void => {
      this.#take(piece.slice(from, to));
      elements.push(this.#finish());
    };
    for (let at = 0; at < piece.length; at++) {
      const char = piece[at] as string;
      if (char === '\n') this.#line++;
      if (this.#text !== null) {
        if (this.#inString) {
          this.#readString(char);
          if (!this.#inString && this.#depth === 0) finish(at + 1);
          continue;
        }
        // a bare word ends before the next character
        if (this.#depth > 0 || !(space.test(char) || char === ',' || char === ']')) {
          if (this.#readValue(char)) finish(at + 1);
          continue;
        }
        finish(at);
      }
      if (this.#between(char)) {
        from = at;
        if (this.#readValue(char)) finish(at + 1);
      }
    }
    if (this.#text !== null) this.#take(piece.slice(from));
    return elements;
  }

  /** A last element without an end. Parsing it shows its problem, or that it is a bare word. */
  end(): JsonElement[] {
    return this.#text === null ? [] : [this.#finish()];
  }

  /** Between elements; whether the character begins one. */
  #between(char: string): boolean {
    if (space.test(char) || char === '\ufeff' || char === ',') return false;
    if (this.#inArray === null) {
      this.#inArray = char === '[';
      if (this.#inArray) return false;
    }
    if (this.#inArray && char === ']') {
      this.#done = true;
      return false;
    }
    if (this.#done)
      throw new SyntaxError(`There is something after the end of the array, at line ${this.#line}`);
    this.#text = '';
    this.#startLine = this.#line;
    return true;
  }

  /** A character of an element outside its strings; whether the element ends with it. */
  #readValue(char: string): boolean {
    if (char === '"') this.#inString = true;
    else if (char === '{' || char === '[') this.#depth++;
    else if (char === '}' || char === ']') {
      this.#depth--;
      return this.#depth <= 0;
    }
    return false;
  }

  #readString(char: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === '\\') this.#escaped = true;
    else if (char === '"') this.#inString = false;
  }

  #take(text: string): void {
    this.#text = (this.#text ?? '') + text;
    if (this.#text.length > longestElement) {
      throw new RangeError(
        `The record at line ${this.#startLine} has more than 16 MiB: a quote may be missing`,
      );
    }
  }

  #finish(): JsonElement {
    const element = { line: this.#startLine, text: this.#text ?? '' };
    this.#text = null;
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
    return element;
  }
}
