import { isNumberCell } from './cell-values.ts';
import { type CellVocabulary, opposite, trueWords } from './cell-words.ts';

/** A value of each type. A column gets the first type that fits all of its values. */
const samples = { boolean: true, number: 0, array: [], object: {}, string: '' };
type Kind = keyof typeof samples;
const kinds = Object.keys(samples) as Kind[];

/** Words without quotes that R, pandas, PostgreSQL, MariaDB and spreadsheets write for null. */
const nullWords = [
  'NA',
  'N/A',
  'n/a',
  '#N/A',
  'NULL',
  'null',
  '\\N',
  'NaN',
  'nan',
  'None',
  '<NA>',
  '-',
  '?',
  '.',
];

/** How many values that do not fit a type are named with line and text. */
const namedMisfits = 3;
/** How many different texts are kept. */
const mostTexts = 20;
/** The share of values that makes a type likely. */
const likely = 0.9;

/** Infers the type of a column from its first cells. */
export class ColumnTypes {
  #values = 0;
  readonly #fits = new Map<Kind, number>();
  readonly #misfits = { number: new Misfits(), boolean: new Misfits() };

  /** @param kindsOf the types that fit the value; empty: there is no value */
  note(value: unknown, line: number, kindsOf: readonly Kind[]): void {
    if (kindsOf.length === 0) return;
    this.#values++;
    for (const kind of kindsOf) this.#fits.set(kind, (this.#fits.get(kind) ?? 0) + 1);
    for (const kind of ['number', 'boolean'] as const)
      if (!kindsOf.includes(kind)) this.#misfits[kind].note(value, line);
  }

  /** A value of the inferred type, which is text without values, and if they have several types. */
  sample(): unknown {
    const kind = kinds.find((kind) => this.#values > 0 && this.#fits.get(kind) === this.#values);
    return samples[kind ?? 'string'];
  }

  /** Which type most values have, if the column is TEXT because of a few others. The end of a sentence about the column. */
  get remark(): string | null {
    if (typeof this.sample() !== 'string') return null;
    for (const kind of ['number', 'boolean'] as const) {
      const fits = this.#fits.get(kind) ?? 0;
      const misfits = this.#misfits[kind];
      if (fits === 0 || (fits < likely * this.#values && misfits.amongWords(nullWords) === null)) continue;
      const noun = kind === 'number' ? 'numbers' : 'true or false';
      return `is TEXT: ${fits} of its ${this.#values} values are ${noun}, but ${misfits}`;
    }
    return null;
  }

  /** Words for null, if all other values of the column are numbers or booleans. */
  get nulls(): readonly string[] {
    for (const kind of ['number', 'boolean'] as const)
      if ((this.#fits.get(kind) ?? 0) > 0) return this.#misfits[kind].amongWords(nullWords) ?? [];
    return [];
  }

  /** The word for true of a column that has only this word and its opposite, perhaps with words for null. */
  get true(): string | null {
    const { texts } = this.#misfits.boolean;
    if (this.#fits.has('number') || texts === null) return null;
    const words = [...texts].filter((text) => !nullWords.includes(text));
    const found = trueWords.find((word) =>
      words.every((text) => text.toLowerCase() === word || text.toLowerCase() === opposite(word)),
    );
    return found !== undefined && words.length === 2 ? found : null;
  }
}

/** Values that do not fit a type. */
class Misfits {
  #count = 0;
  readonly #lines: number[] = [];
  /** Null: too many different texts. */
  texts: Set<string> | null = new Set();

  note(value: unknown, line: number): void {
    this.#count++;
    if (this.#lines.length < namedMisfits) this.#lines.push(line);
    if (typeof value !== 'string' || this.texts?.size === mostTexts) this.texts = null;
    this.texts?.add(value as string);
  }

  /** The texts, if all are among these words; null: one is not. */
  amongWords(words: readonly string[]): readonly string[] | null {
    const texts = [...(this.texts ?? [])];
    return texts.length > 0 && texts.every((text) => words.includes(text)) ? texts : null;
  }

  /** `lines 5, 9 and 31 have other values` */
  toString(): string {
    const [line, ...more] = this.#lines;
    const last = this.#count > this.#lines.length ? `${this.#count - this.#lines.length} more` : more.pop();
    const lines = last === undefined ? `${line}` : `${[line, ...more].join(', ')} and ${last}`;
    return this.#count === 1 ? `line ${lines} has another value` : `lines ${lines} have other values`;
  }
}

/** Types that fit a cell of CSV. */
export function kindsOfCell(cell: string | null, words: CellVocabulary): readonly Kind[] {
  if (cell === null || cell === '') return [];
  const isNumber = isNumberCell(cell, words);
  if (words.booleans.has(cell.toLowerCase())) return isNumber ? ['boolean', 'number'] : ['boolean'];
  return isNumber ? ['number'] : kindsOfTableValue(cell);
}

/** The type of a value of a table, where arrays and objects may be JSON texts. */
export function kindsOfTableValue(value: unknown): readonly Kind[] {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return kindsOfValue(value);
  try {
    return kindsOfValue(JSON.parse(value));
  } catch {
    return ['string'];
  }
}

export function kindsOfValue(value: unknown): readonly Kind[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return ['array'];
  switch (typeof value) {
    case 'bigint':
    case 'number':
      return ['number'];
    case 'boolean':
      return ['boolean'];
    case 'object':
      return value instanceof Uint8Array ? ['string'] : ['object'];
    default:
      return ['string'];
  }
}
