import type { FieldType } from '#records/types/field-types.ts';
import { fileTypes } from '#records/types/file-types.ts';
import { readDay } from '#records/types/times.ts';
import { isNumberCell } from './cell-values.ts';
import { type CellVocabulary, opposite, trueWords } from './cell-words.ts';
import { isFileTime } from './file-times.ts';
import type { LocalTimes } from './local-times.ts';

const text = fileTypes.text.type;
const boolean = fileTypes.boolean.type;
const number = fileTypes.double.type;
const array = fileTypes.list.type;
const object = fileTypes.struct.type;
const time = fileTypes.time.type;
const day = fileTypes.day.type;

/** Types of columns of texts. A column gets the first one that fits all of its values. */
const candidates = [boolean, number, array, object, time, day, text];
/** Types that most values of a column may have, in a sentence about them. */
const likelyTypes = [
  [number, 'numbers'],
  [boolean, 'true or false'],
  [time, 'times with a zone'],
  [day, 'days'],
] as const;

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
  'NaT',
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
  /** How many values each list of types fits. The lists are few, and always the same ones. */
  readonly #counts = new Map<readonly FieldType[], number>();
  readonly #misfits = new Map(likelyTypes.map(([type]): [FieldType, Misfits] => [type, new Misfits()]));

  /** @param types that fit the value; empty: there is no value */
  note(value: unknown, line: number, types: readonly FieldType[]): void {
    if (types.length === 0) return;
    this.#values++;
    this.#counts.set(types, (this.#counts.get(types) ?? 0) + 1);
    for (const [type, misfits] of this.#misfits)
      if (!misfits.isFull && !types.includes(type)) misfits.note(value, line);
  }

  #fits(type: FieldType): number {
    let fits = 0;
    for (const [types, count] of this.#counts) if (types.includes(type)) fits += count;
    return fits;
  }

  /** The inferred type, which is that of texts without values, and if they have several types. */
  get type(): FieldType {
    const fitting = candidates.find((type) => this.#values > 0 && this.#fits(type) === this.#values);
    return fitting ?? text;
  }

  /** Which type most values have, if the column is of texts because of a few others. The end of a sentence about the column. */
  get remark(): string | null {
    if (this.type !== text) return null;
    for (const [type, noun] of likelyTypes) {
      const fits = this.#fits(type);
      const misfits = this.#misfits.get(type) as Misfits;
      if (fits === 0 || (fits < likely * this.#values && misfits.amongWords(nullWords) === null)) continue;
      return `is ${text}: ${fits} of its ${this.#values} values are ${noun}, but ${misfits.text(this.#values - fits)}`;
    }
    return null;
  }

  /** Words for null, if all other values of the column are of one type. */
  get nulls(): readonly string[] {
    for (const [type, misfits] of this.#misfits)
      if (this.#fits(type) > 0) return misfits.amongWords(nullWords) ?? [];
    return [];
  }

  /** The word for true of a column that has only this word and its opposite, perhaps with words for null. */
  get true(): string | null {
    const { texts } = this.#misfits.get(boolean) as Misfits;
    if (this.#fits(number) > 0 || texts === null) return null;
    const words = [...texts].filter((text) => !nullWords.includes(text));
    const found = trueWords.find((word) =>
      words.every((text) => text.toLowerCase() === word || text.toLowerCase() === opposite(word)),
    );
    return found !== undefined && words.length === 2 ? found : null;
  }
}

/** Values that do not fit a type. */
class Misfits {
  readonly #lines: number[] = [];
  /** Null: too many different texts. */
  texts: Set<string> | null = new Set();

  /** Whether more of them change nothing. */
  get isFull(): boolean {
    return this.texts === null && this.#lines.length === namedMisfits;
  }

  note(value: unknown, line: number): void {
    if (this.#lines.length < namedMisfits) this.#lines.push(line);
    if (typeof value !== 'string' || this.texts?.size === mostTexts) this.texts = null;
    this.texts?.add(value as string);
  }

  /** The texts, if all are among these words; null: one is not. */
  amongWords(words: readonly string[]): readonly string[] | null {
    const texts = [...(this.texts ?? [])];
    return texts.length > 0 && texts.every((text) => words.includes(text)) ? texts : null;
  }

  /** `lines 5, 9 and 31 have other values` @param count of all */
  text(count: number): string {
    const [line, ...more] = this.#lines;
    const last = count > this.#lines.length ? `${count - this.#lines.length} more` : more.pop();
    const lines = last === undefined ? `${line}` : `${[line, ...more].join(', ')} and ${last}`;
    return count === 1 ? `line ${lines} has another value` : `lines ${lines} have other values`;
  }
}

/** How texts are read. */
export interface TextReading {
  readonly words: CellVocabulary;
  /** Of times that have none. */
  readonly zone: LocalTimes | null;
}

/** The lists of types that fit a value. */
const fits = {
  none: [],
  boolean: [boolean],
  booleanOrNumber: [boolean, number],
  number: [number],
  array: [array],
  object: [object],
  time: [time],
  day: [day],
  text: [text],
} as const satisfies Readonly<Record<string, readonly FieldType[]>>;

/** Types that fit a cell of CSV. */
export function typesOfCell(cell: string | null, { words, zone }: TextReading): readonly FieldType[] {
  if (cell === null || cell === '') return fits.none;
  const isNumber = isNumberCell(cell, words);
  if (words.booleans.has(cell.toLowerCase())) return isNumber ? fits.booleanOrNumber : fits.boolean;
  if (isNumber) return fits.number;
  return isBracket(cell) ? typesOfTableText(cell) : typesOfText(cell, zone);
}

function isBracket(text: string): boolean {
  return text.startsWith('[') || text.startsWith('{');
}

/** Types that fit a text of Parquet or Arrow, which say what is a time: arrays and objects may be JSON texts. */
export function typesOfTableText(value: unknown): readonly FieldType[] {
  if (value === null) return fits.none;
  if (typeof value !== 'string' || !isBracket(value)) return fits.text;
  try {
    return typesOfJson(JSON.parse(value), null);
  } catch {
    return fits.text;
  }
}

/** Types that fit a value of JSON. */
export function typesOfJson(value: unknown, zone: LocalTimes | null): readonly FieldType[] {
  if (value === null || value === undefined) return fits.none;
  switch (typeof value) {
    case 'number':
      return fits.number;
    case 'boolean':
      return fits.boolean;
    case 'object':
      return Array.isArray(value) ? fits.array : fits.object;
    default:
      return typesOfText(value as string, zone);
  }
}

function typesOfText(value: string, zone: LocalTimes | null): readonly FieldType[] {
  if (value.length === 10 && readDay(value) !== null) return fits.day;
  return isFileTime(value, zone) ? fits.time : fits.text;
}
