import { invalidBody } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { unescapeFormula } from '#records/sql/export-columns.ts';
import { isSystemKey } from '#records/structure/field.ts';
import type { TypedField } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { TimeZone } from '#records/types/time-zone.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { SourcePiece, SourceRecord } from '../formats/source-record.ts';
import { isTable } from '../formats/source-records.ts';
import { plainValue } from '../formats/table-cells.ts';
import { DecimalCell, UnfitCell } from '../formats/typed-cells.ts';
import { hasDecimalComma } from './cell-values.ts';
import { cellVocabulary } from './cell-words.ts';
import { ColumnTypes, type TextReading, typesOfCell, typesOfJson, typesOfTableText } from './column-types.ts';
import { type FileReading, namedTwice, type RecordProblem, unnamedColumn } from './file-records.ts';
import { isLocalTime } from './file-times.ts';
import { type LocalTimes, zoneTimes } from './local-times.ts';

/** About columns of texts whose values are mostly of another type. `reason` completes a sentence that begins with the column. */
export type Remarks = readonly { readonly column: string; readonly reason: string }[];

/** Records of a text, and rows of a table, whose pages are read whole, that decide types. */
export const sampledRecords = 5000;
export const sampledRows = 1000;
/** Pieces of a text (source-records.ts). */
export const mostSampledPieces = 32;
/** Records that are shown, and the characters of a value. */
const shownRows = 20;
const shownCharacters = 200;

/** Values of the query parameters with these names that would give more columns a type; null: not needed. */
export interface SuggestedChoices {
  readonly nulls: string | null;
  readonly true: string | null;
  readonly decimal: string | null;
  readonly timeZone: string | null;
}

/**
 * The columns of the first records of a file, their types, and some of their values: what an import into a new space makes
 * its fields of, and what a query of the file takes for its columns.
 */
export class FileShape {
  readonly #reading: FileReading;
  readonly #mayBeUnnamed: boolean;
  readonly #texts: TextReading;
  readonly #types = new Map<string, ColumnTypes>();
  /** Types that the file says. */
  readonly #declared = new Map<string, TypedField>();
  #decimalCommas = 0;
  #decimalPoints = 0;
  #hasLocalTimes = false;
  readonly rows: { readonly line: number; readonly values: readonly unknown[] }[] = [];
  /** Whether the file names its columns. */
  isNamed = false;
  /** The problem of the first record that can not be read. */
  problem: RecordProblem | null = null;
  #records = 0;

  /** @param options.isDry whether a column without a name is only shown */
  constructor(reading: FileReading, { isDry }: { readonly isDry: boolean }) {
    this.#reading = reading;
    this.#mayBeUnnamed = isDry || Object.hasOwn(reading.columns, '');
    this.#texts = { words: cellVocabulary(reading.words), zone: zoneTimes(reading) };
  }

  get columns(): readonly string[] {
    return [...this.#types.keys()];
  }

  get remarks(): Remarks {
    return [...this.#types].flatMap(([column, { remark }]) =>
      remark === null || this.#isLeftOut(column) ? [] : [{ column, reason: remark }],
    );
  }

  get suggested(): SuggestedChoices {
    const timeZone = this.#hasLocalTimes && this.#texts.zone === null ? TimeZone.utc.name : null;
    if (this.#reading.format !== 'csv') return { nulls: null, true: null, decimal: null, timeZone };
    const columns = [...this.#types.values()];
    const nulls = new Set([...(this.#reading.nulls ?? []), ...columns.flatMap((column) => column.nulls)]);
    const trues = new Set(columns.flatMap((column) => column.true ?? []));
    const hasCommas = this.#decimalCommas > 0 && this.#decimalPoints === 0;
    return {
      nulls: columns.some((column) => column.nulls.length > 0) ? [...nulls].join(',') : null,
      true: trues.size > 0 ? [...(this.#reading.words?.true ?? []), ...trues].join(',') : null,
      decimal: hasCommas && !this.#texts.words.hasComma ? ',' : null,
      timeZone,
    };
  }

  /** The clocks of times that have no zone. */
  get zone(): LocalTimes | null {
    return this.#texts.zone;
  }

  /** Returns whether more records are needed. */
  note({ columns, types, records }: SourcePiece): boolean {
    if (columns !== null && !this.isNamed) this.#noteNames(columns, types ?? []);
    const most = isTable(this.#reading) ? sampledRows : sampledRecords;
    for (const record of records) {
      if (record.cells === undefined) this.#noteJson(record);
      else this.#noteCells(record.cells, record.line);
      if (++this.#records === most) return false;
    }
    return true;
  }

  /** The type of a column. */
  typeOf(column: string): TypedField {
    return this.#declared.get(column) ?? { type: this.#typesOf(column).type };
  }

  /** The fields of the columns that are not left out. */
  fields(): readonly (TypedField & { readonly name: string })[] {
    if (!this.isNamed && this.#reading.format === 'csv')
      throw invalidBody('No structure can be inferred from a CSV file whose first line has no column names');
    const fields = this.columns.flatMap((column) =>
      this.#isLeftOut(column)
        ? []
        : [{ name: this.#reading.columns[column] ?? column, ...this.typeOf(column) }],
    );
    const [first] = this.columns;
    if (fields.length === 0 && first !== undefined)
      throw invalidBody(
        `No column of the file becomes a field: ${shownName(first)} ${isSystemKey(first) ? 'is set by the service, unless columns names another field for it' : 'is left out'}`,
      );
    return fields;
  }

  #isLeftOut(column: string): boolean {
    const { columns } = this.#reading;
    return Object.hasOwn(columns, column) ? columns[column] === null : column === '' || isSystemKey(column);
  }

  #noteNames(columns: readonly string[], declared: readonly (TypedField | null)[]): void {
    const names = this.#reading.unescapesFormulas ? columns.map(unescapeFormula) : columns;
    this.isNamed = true;
    const line = isTable(this.#reading) ? null : 1;
    for (const [index, name] of names.entries()) {
      if (this.#types.has(name)) throw new FileProblem(line, namedTwice(name, line));
      if (name === '' && !this.#mayBeUnnamed) throw new FileProblem(line, unnamedColumn(index));
      this.#typesOf(name);
      const type = declared[index] ?? null;
      if (type !== null) this.#declared.set(name, type);
    }
  }

  #typesOf(name: string): ColumnTypes {
    const types = this.#types.get(name) ?? new ColumnTypes();
    this.#types.set(name, types);
    return types;
  }

  #noteCells(cells: readonly unknown[], line: number): void {
    const ofTable = isTable(this.#reading);
    if (!this.isNamed) for (const index of cells.keys()) this.#typesOf(String(index + 1));
    let index = 0;
    for (const [name, types] of this.#types) {
      const cell = cells[index++] ?? null;
      if (typeof cell === 'string' && !this.#hasLocalTimes) this.#hasLocalTimes = isLocalTime(cell);
      if (!ofTable) {
        types.note(cell, line, typesOfCell(cell as string | null, this.#texts));
        this.#noteFraction(cell as string | null);
      } else if (!this.#declared.has(name)) types.note(cell, line, typesOfTableText(cell));
    }
    if (this.rows.length === shownRows) return;
    const shown = ofTable ? cells.map((cell) => plainValue(cell, this.#reading.nanIsNull)) : cells;
    this.rows.push({ line, values: Array.from(this.#types, (_, index) => shownValue(shown[index])) });
  }

  #noteFraction(cell: string | null): void {
    if (cell === null) return;
    if (hasDecimalComma(cell)) this.#decimalCommas++;
    else if (/^-?\d+\.\d+$/.test(cell)) this.#decimalPoints++;
  }

  #noteJson({ value, line, problem }: SourceRecord): void {
    if (!isObject(value)) {
      this.problem ??= { line, field: null, reason: problem ?? 'it is not a JSON object' };
      return;
    }
    for (const [name, item] of Object.entries(value)) {
      if (typeof item === 'string' && !this.#hasLocalTimes) this.#hasLocalTimes = isLocalTime(item);
      this.#typesOf(name).note(item, line, typesOfJson(item, this.#texts.zone));
    }
    if (this.rows.length < shownRows)
      this.rows.push({ line, values: this.columns.map((name) => shownValue(value[name])) });
  }
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null, withoutBigInts);
  if (text.length > shownCharacters) return `${text.slice(0, shownCharacters)}…`;
  return typeof value === 'string' ? value : (JSON.parse(text) as unknown);
}

function withoutBigInts(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`;
  if (value instanceof DecimalCell) return value.text;
  if (value instanceof UnfitCell) return null;
  return typeof value === 'bigint' ? String(value) : value;
}
