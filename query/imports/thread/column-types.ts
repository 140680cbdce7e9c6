import { isNumberCell } from './cell-values.ts';
import { type KnownWords, opposite, trueWords } from './cell-words.ts';

/** A value of each type, the likeliest first: a column is of the first one that all of its values have. */
const samples = { boolean: true, number: 0, array: [], object: {}, string: '' };
type Kind = keyof typeof samples;
const kinds = Object.keys(samples) as Kind[];

/** Words without quotes that writers have for null: R, pandas, PostgreSQL, MariaDB, spreadsheets. */
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

/** Of the values that a type does not fit, whose lines and texts are named. */
const namedMisfits = 3;
/** Different ones that are known. */
const knownTexts = 20;
/** The part of its values that makes a type likely. */
const likely = 0.9;

/** What the first cells of a column say of its type. */
export class ColumnTypes {
  #values = 0;
  readonly #fits = new Map<Kind, number>();
  readonly #misfits = { number: new Misfits(), boolean: new Misfits() };

  /** @param kindsOf the types that the value may be of; none: there is no value */
  note(value: unknown, line: number, kindsOf: readonly Kind[]): void {
    if (kindsOf.length === 0) return;
    this.#values++;
    for (const kind of kindsOf) this.#fits.set(kind, (this.#fits.get(kind) ?? 0) + 1);
    for (const kind of ['number', 'boolean'] as const)
      if (!kindsOf.includes(kind)) this.#misfits[kind].note(value, line);
  }

  /** A value of the type; without values, and of several types, it is text. */
  sample(): unknown {
    const kind = kinds.find((kind) => this.#values > 0 && this.#fits.get(kind) === this.#values);
    return samples[kind ?? 'string'];
  }

  /** That most values are of a type which the column does not get, as the end of a sentence about it; null: they are not. */
  get remark(): string | null {
    if (typeof this.sample() !== 'string') return null;
    for (const kind of ['number', 'boolean'] as const) {
      const fits = this.#fits.get(kind) ?? 0;
      const misfits = this.#misfits[kind];
      if (fits === 0 || (fits < likely * this.#values && misfits.amongWords(nullWords) === null)) continue;
      const what = kind === 'number' ? 'numbers' : 'true or false';
      return `is TEXT, because ${fits} of its ${this.#values} values are ${what}, and ${misfits} not`;
    }
    return null;
  }

  /** Words for null, if those are all that keeps the column from being numbers or booleans. */
  get nulls(): readonly string[] {
    for (const kind of ['number', 'boolean'] as const)
      if ((this.#fits.get(kind) ?? 0) > 0) return this.#misfits[kind].amongWords(nullWords) ?? [];
    return [];
  }

  /** The word for true of a column that has it and its opposite alone, perhaps with words for null. */
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

/** Values that are not of a type. */
class Misfits {
  #count = 0;
  readonly #lines: number[] = [];
  /** Null: too many different ones. */
  texts: Set<string> | null = new Set();

  note(value: unknown, line: number): void {
    this.#count++;
    if (this.#lines.length < namedMisfits) this.#lines.push(line);
    if (typeof value !== 'string' || this.texts?.size === knownTexts) this.texts = null;
    this.texts?.add(value as string);
  }

  /** Its texts, if each is one of these words; null: one is another. */
  amongWords(words: readonly string[]): readonly string[] | null {
    const texts = [...(this.texts ?? [])];
    return texts.length > 0 && texts.every((text) => words.includes(text)) ? texts : null;
  }

  /** `those of lines 5, 9 and 31 (NA, x) are` */
  toString(): string {
    const [line, ...more] = this.#lines;
    const last = this.#count > this.#lines.length ? `${this.#count - this.#lines.length} more` : more.pop();
    const lines = last === undefined ? `${line}` : `${[line, ...more].join(', ')} and ${last}`;
    return `${this.#count === 1 ? 'that of line' : 'those of lines'} ${lines} ${this.#count === 1 ? 'is' : 'are'}`;
  }
}

/** Types that a cell of CSV may be of, by its look. */
export function kindsOfCell(cell: string | null, words: KnownWords): readonly Kind[] {
  if (cell === null || cell === '') return [];
  const isNumber = isNumberCell(cell, words);
  if (words.booleans.has(cell.toLowerCase())) return isNumber ? ['boolean', 'number'] : ['boolean'];
  return isNumber ? ['number'] : kindsOfTableValue(cell);
}

/** The type of a value of a table, which has arrays and objects also as texts of JSON. */
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
