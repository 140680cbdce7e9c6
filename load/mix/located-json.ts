/** A JSON text, and the line of each of its values. */
export interface LocatedJson {
  readonly value: unknown;
  /** By path: `requests[1].weight`; the whole text is ``. */
  readonly lines: ReadonlyMap<string, number>;
}

export class JsonProblem extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

const deepest = 50;
const space = /[ \t\r\n]*/y;
const scalar = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;

/** Parses JSON (RFC 8259) like JSON.parse, which doesn't say where a value is. Throws a JsonProblem. */
export function parseLocatedJson(text: string): LocatedJson {
  return new Parser(text).parse();
}

class Parser {
  readonly #text: string;
  readonly #lines = new Map<string, number>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): LocatedJson {
    const value = this.#value('', 0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#problem('the end of the file');
    return { value, lines: this.#lines };
  }

  #value(path: string, depth: number): unknown {
    this.#skip();
    this.#lines.set(path, this.#line());
    if (depth > deepest) throw new JsonProblem(this.#line(), `is nested more than ${deepest} levels deep`);
    const begin = this.#text[this.#at];
    if (begin === '{') return this.#object(path, depth);
    if (begin === '[') return this.#array(path, depth);
    return this.#scalar();
  }

  #object(path: string, depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = Object.create(null);
    this.#list('}', () => {
      this.#skip();
      if (this.#text[this.#at] !== '"') throw this.#problem('a key in quotes');
      const key = this.#scalar() as string;
      const inner = path === '' ? key : `${path}.${key}`;
      if (key in object) throw new JsonProblem(this.#line(), `has the key ${inner} twice`);
      this.#expect(':');
      object[key] = this.#value(inner, depth + 1);
    });
    return object;
  }

  #array(path: string, depth: number): unknown[] {
    const array: unknown[] = [];
    this.#list(']', () => array.push(this.#value(`${path}[${array.length}]`, depth + 1)));
    return array;
  }

  #list(end: string, item: () => void): void {
    this.#at++;
    this.#skip();
    if (this.#text[this.#at] === end) {
      this.#at++;
      return;
    }
    for (;;) {
      item();
      this.#skip();
      const next = this.#text[this.#at];
      if (next !== ',' && next !== end) throw this.#problem(`a comma or ${end}`);
      this.#at++;
      if (next === end) return;
    }
  }

  #scalar(): unknown {
    scalar.lastIndex = this.#at;
    const token = scalar.exec(this.#text)?.[0];
    if (token === undefined) throw this.#problem('a value');
    try {
      const value: unknown = JSON.parse(token);
      this.#at += token.length;
      return value;
    } catch {
      throw this.#problem('a value');
    }
  }

  #expect(character: string): void {
    this.#skip();
    if (this.#text[this.#at] !== character) throw this.#problem(character);
    this.#at++;
  }

  #skip(): void {
    space.lastIndex = this.#at;
    space.test(this.#text);
    this.#at = space.lastIndex;
  }

  #problem(expected: string): JsonProblem {
    const found =
      this.#at >= this.#text.length ? 'the end of the file' : JSON.stringify(this.#text[this.#at]);
    return new JsonProblem(this.#line(), `is not JSON: expected ${expected}, found ${found}`);
  }

  #line(): number {
    let line = 1;
    for (let at = this.#text.indexOf('\n'); at >= 0 && at < this.#at; at = this.#text.indexOf('\n', at + 1))
      line++;
    return line;
  }
}
