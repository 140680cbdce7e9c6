import { shownName } from '../../common/errors/shown-name.ts';
import type { RecordValues } from '../input/validate-record.ts';
import { readGiven } from '../input/validate-record.ts';
import { unescapeFormula } from '../sql/export-columns.ts';
import { type Field, isSystemKey } from '../structure/field.ts';
import { isPlainValue } from '../structure/field-value.ts';
import { isObject } from '../structure/is-object.ts';
import type { Structure } from '../structure/structure.ts';
import { readCell } from './cell-values.ts';
import { CsvRecords } from './csv-records.ts';
import { FileProblem } from './file-problem.ts';
import { type JsonRecord, type JsonRecords, jsonRecords } from './json-records.ts';

/** Why a record of a file can't be stored. */
export interface RecordProblem {
  /** Of the file, from 1; null: not of a line. */
  readonly line: number | null;
  /** Null: of the whole record. */
  readonly field: string | null;
  readonly reason: string;
}

export interface FileRecord {
  readonly line: number;
  /** Null: it has problems. */
  readonly values: RecordValues | null;
}

export const importFormats = ['csv', 'ndjson', 'json'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** How a file is to be read. */
export interface FileReading {
  readonly format: ImportFormat;
  /** Of CSV; null: that of its first line. */
  readonly delimiter: string | null;
  /** Of CSV: without one its columns are the fields in their order. */
  readonly hasHeader: boolean;
  /** Of CSV: apostrophes before texts that look like formulas are taken off, as an export puts them there. */
  readonly unescapesFormulas: boolean;
  /** Characters of one record. */
  readonly largest: number;
}

/** Keys that every record has: the service sets them. */
const passedOver = -1;

/** Records of a file, checked by a structure as those of inserts are. */
export class FileRecords {
  readonly #structure: Structure;
  readonly #complain: (problem: RecordProblem) => void;
  readonly #records: CsvRecords | JsonRecords;
  readonly #unescapes: boolean;
  /** Places in the structure of the columns of CSV. */
  #places: readonly number[] | null = null;

  constructor(structure: Structure, reading: FileReading, complain: (problem: RecordProblem) => void) {
    this.#structure = structure;
    this.#complain = complain;
    const { format } = reading;
    this.#unescapes = reading.unescapesFormulas;
    this.#records = format === 'csv' ? new CsvRecords(reading) : jsonRecords(format, reading);
    if (!reading.hasHeader) this.#places = structure.fields.map((_, place) => place);
  }

  /** The records that are whole with this piece of text. Throws a FileProblem where nothing behind can be read. */
  *read(piece: string, isLast: boolean): Generator<FileRecord> {
    const records = this.#records;
    if (!(records instanceof CsvRecords)) {
      for (const record of records.read(piece, isLast)) yield this.#ofJson(record);
      return;
    }
    for (const { cells: read, line } of records.read(piece, isLast)) {
      const cells = this.#unescapes ? read.map((cell) => cell && unescapeFormula(cell)) : read;
      if (this.#places === null) this.#places = this.#header(cells, line);
      else yield this.#ofCells(cells, this.#places, line);
    }
    if (isLast && this.#places === null) throw new FileProblem(null, 'the file is empty');
  }

  #header(cells: readonly (string | null)[], line: number): readonly number[] {
    const { fields, places } = this.#structure;
    const seen = new Set<number>();
    return cells.map((cell, index) => {
      const name = cell?.trim() ?? '';
      const place = places.get(name) ?? places.get(cell ?? '');
      if (place === undefined) {
        if (isSystemKey(name)) return passedOver;
        const shown =
          name === '' ? `column ${index + 1} has no name` : `column ${shownName(name)} is no field`;
        throw new FileProblem(line, `${shown} of the record space; its first line should name fields`);
      }
      if (seen.has(place))
        throw new FileProblem(line, `two columns are the field ${shownName((fields[place] as Field).name)}`);
      seen.add(place);
      return place;
    });
  }

  #ofCells(cells: readonly (string | null)[], places: readonly number[], line: number): FileRecord {
    if (cells.length !== places.length) {
      this.#complain({
        ...{ line, field: null },
        reason: `it has ${cells.length} cells, and there are ${places.length} columns`,
      });
      return { line, values: null };
    }
    const { fields } = this.#structure;
    const given: unknown[] = new Array(fields.length).fill(undefined);
    let isGood = true;
    for (let column = 0; column < places.length; column++) {
      const place = places[column] as number;
      if (place === passedOver) continue;
      const field = fields[place] as Field;
      const reading = readCell(field, cells[column] as string | null);
      if ('value' in reading) given[place] = reading.value;
      else {
        isGood = false;
        this.#complain({ line, field: field.name, reason: reading.problem });
      }
    }
    return { line, values: isGood ? this.#stored(given, line) : null };
  }

  #ofJson({ value, problem, line }: JsonRecord): FileRecord {
    if (problem !== undefined || !isObject(value)) {
      this.#complain({ line, field: null, reason: problem ?? 'it is no JSON object' });
      return { line, values: null };
    }
    const { fields, places } = this.#structure;
    const given: unknown[] = new Array(fields.length).fill(undefined);
    let isGood = true;
    for (const key of Object.keys(value)) {
      const place = places.get(key);
      if (place !== undefined) given[place] = value[key];
      else if (!isSystemKey(key)) {
        isGood = false;
        this.#complain({ line, field: key.slice(0, 200), reason: 'is not in the structure' });
      }
    }
    return { line, values: isGood ? this.#stored(given, line) : null };
  }

  /** The values in their stored form; null: there are problems. */
  #stored(values: unknown[], line: number): RecordValues | null {
    const { fields } = this.#structure;
    let isGood = true;
    for (let place = 0; place < fields.length; place++) {
      const field = fields[place] as Field;
      if (isPlainValue(field.type, values[place])) continue;
      const reading = readGiven(field, values[place]);
      if ('value' in reading) values[place] = reading.value;
      else {
        isGood = false;
        this.#complain({ line, field: field.name, reason: reading.problem });
      }
    }
    return isGood ? (values as RecordValues) : null;
  }
}
