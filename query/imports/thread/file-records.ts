import { shownName } from '#kernel/errors/shown-name.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { readGiven } from '#records/input/validate-record.ts';
import { unescapeFormula } from '#records/sql/export-columns.ts';
import { type Field, isSystemKey } from '#records/structure/field.ts';
import type { Structure } from '#records/structure/structure.ts';
import { isPlainValue, typeCan } from '#records/types/field-types.ts';
import { isObject } from '#records/types/is-object.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { SourcePiece, SourceRecord } from '../formats/source-record.ts';
import { isTable, type SourceReading } from '../formats/source-records.ts';
import { plainValue } from '../formats/table-cells.ts';
import { readCell, readTableCell } from './cell-values.ts';
import { type CellVocabulary, type CellWords, cellVocabulary } from './cell-words.ts';
import { fileTime } from './file-times.ts';
import { type LocalTimes, zoneTimes } from './local-times.ts';
import {
  type KeepOption,
  readHash,
  readSystemValue,
  type SystemColumn,
  type SystemValues,
} from './system-values.ts';

/** Why a record of a file can't be stored. */
export interface RecordProblem {
  /** Line of the file, from 1; null: the problem has no line. */
  readonly line: number | null;
  /** Null: the problem is about the whole record. */
  readonly field: string | null;
  readonly reason: string;
}

/** A record of a file, checked against the structure. */
export interface FileRecord {
  readonly line: number;
  /** Values in their stored form; null: some have problems. */
  readonly values: RecordValues | null;
  readonly system: SystemValues;
  /** The values in the file, in the order of the structure's fields; undefined: no value. */
  readonly rawValues: readonly unknown[];
}

/** How to read records from a file. */
export interface FileReading extends SourceReading {
  /** CSV: whether to remove the apostrophes that an export adds to texts that look like formulas. */
  readonly unescapesFormulas: boolean;
  /** CSV: more words for true and false, and the decimal separator. */
  readonly words?: CellWords;
  /** Tables: whether numbers that are not finite become null. */
  readonly nanIsNull?: boolean;
  /** The name of the zone of times that have none; absent: they are a problem. */
  readonly timeZone?: string;
  /** The field of each column, by name or slug; null: left out. Other columns go to the field of the same name. */
  readonly columns: Readonly<Record<string, string | null>>;
  /** What the records keep. Without it the service sets these values. */
  readonly keep: readonly KeepOption[];
}

/** Where the values of a column go: a field by its place in the structure, a system value, or nowhere. */
type ColumnTarget = number | SystemColumn | null;

/** Reads records of a file, with the checks of inserts. */
export class FileRecords {
  readonly #structure: Structure;
  readonly #reading: FileReading;
  readonly #onProblem: (problem: RecordProblem) => void;
  /** The targets of columns that `reading.columns` names. */
  readonly #named: ReadonlyMap<string, ColumnTarget>;
  readonly #words: CellVocabulary;
  readonly #keepsHashes: boolean;
  readonly #keptColumns: readonly SystemColumn[];
  /** By the places of fields: whether their texts are times. */
  readonly #areTimes: readonly boolean[];
  readonly #zone: LocalTimes | null;
  /** An empty cell of a table is null, even if the field has a default by now. */
  readonly #keepsNull: boolean;
  /** The targets of the columns of the file. */
  #targets: readonly ColumnTarget[] | null = null;

  /** Throws a FileProblem if a column should go to a field that does not exist. */
  constructor(structure: Structure, reading: FileReading, onProblem: (problem: RecordProblem) => void) {
    this.#structure = structure;
    this.#reading = reading;
    this.#onProblem = onProblem;
    this.#words = cellVocabulary(reading.words);
    this.#keepsHashes = reading.keep.includes('hashes');
    this.#keptColumns = reading.keep.filter((name) => name !== 'hashes');
    this.#keepsNull = reading.keep.length > 0 && isTable(reading);
    this.#areTimes = structure.fields.map(({ type }) => typeCan(type, 'zoned'));
    this.#zone = zoneTimes(reading);
    this.#named = new Map(
      Object.entries(reading.columns).map(([column, name]) => {
        const place = name === null ? null : structure.places.get(name);
        if (place === undefined) throw new FileProblem(null, noField(column, String(name)));
        return [column, place];
      }),
    );
  }

  /** Throws a FileProblem if the rest of the file can not be read. */
  *read({ columns, records }: SourcePiece): Generator<FileRecord> {
    if (columns !== null) this.#targets ??= this.#targetsOf(columns);
    for (const record of records) {
      if (record.cells === undefined) yield this.#ofJson(record);
      else {
        this.#targets ??= this.#targetsInOrder(record.cells.length);
        yield this.#ofCells(record.cells, this.#targets, record.line);
      }
    }
  }

  #targetsOf(columns: readonly string[]): readonly ColumnTarget[] {
    const { unescapesFormulas } = this.#reading;
    const names = unescapesFormulas ? columns.map(unescapeFormula) : columns;
    const line = isTable(this.#reading) ? null : 1;
    const targets = names.map((name, index) => {
      const target = this.#targetOf(name);
      if (target !== undefined) return target;
      if (name === '') throw new FileProblem(line, unnamedColumn(index));
      const hint = line === null ? '' : '; its first line should name fields';
      throw new FileProblem(line, `column ${shownName(name)} is no field of the record space${hint}`);
    });
    const missing = this.#keptColumns.find((name) => !targets.includes(name));
    if (missing !== undefined)
      throw new FileProblem(line, `it has no column ${missing}, which should be kept`);
    const { fields } = this.#structure;
    for (const [index, target] of targets.entries())
      if (target !== null && targets.indexOf(target) < index) {
        const field = typeof target === 'number' ? (fields[target] as Field).name : target;
        throw new FileProblem(line, sameField(field));
      }
    return targets;
  }

  /** Undefined: it is not a field. */
  #targetOf(name: string): ColumnTarget | undefined {
    const named = this.#named.get(name) ?? (this.#named.has(name) ? null : this.#structure.places.get(name));
    if (named !== undefined) return named;
    if (isSystemKey(name)) return this.#keptColumns.find((kept) => kept === name) ?? null;
    return undefined;
  }

  /** Columns without names go to the fields in order, unless `reading.columns` names them by number. */
  #targetsInOrder(count: number): readonly ColumnTarget[] {
    const { fields } = this.#structure;
    if (this.#keptColumns.length > 0) throw new FileProblem(1, 'without column names nothing can be kept');
    const length = this.#named.size > 0 ? count : fields.length;
    return Array.from({ length }, (_, index) => {
      const named = this.#named.get(String(index + 1));
      return named === undefined && index < fields.length ? index : (named ?? null);
    });
  }

  #ofCells(cells: readonly unknown[], targets: readonly ColumnTarget[], line: number): FileRecord {
    const { fields } = this.#structure;
    const rawValues: unknown[] = new Array(fields.length).fill(undefined);
    if (cells.length !== targets.length) {
      const reason = `it has ${cells.length} cells, and there are ${targets.length} columns`;
      this.#onProblem({ line, field: null, reason });
      return { line, values: null, system: {}, rawValues };
    }
    const { unescapesFormulas, nanIsNull = false } = this.#reading;
    const ofTable = isTable(this.#reading);
    let system: SystemValues | null = {};
    let isGood = true;
    for (let column = 0; column < targets.length; column++) {
      const target = targets[column] ?? null;
      if (target === null) continue;
      let cell = cells[column];
      if (unescapesFormulas && typeof cell === 'string') cell = unescapeFormula(cell);
      if (typeof target === 'string') {
        system = system && this.#withSystemValue(system, target, ofTable ? plainValue(cell) : cell, line);
        continue;
      }
      const field = fields[target] as Field;
      const reading =
        this.#keepsHashes && field.hashed
          ? { value: cell }
          : ofTable
            ? readTableCell(field, cell, nanIsNull)
            : readCell(field, cell as string | null, this.#words);
      if ('value' in reading)
        rawValues[target] = (cell ?? null) === null && this.#keepsNull ? null : reading.value;
      else {
        isGood = false;
        this.#onProblem({ line, field: field.name, reason: reading.problem });
      }
    }
    return this.#checked(rawValues, isGood ? system : null, line);
  }

  #ofJson({ value, problem, line }: SourceRecord): FileRecord {
    const { fields } = this.#structure;
    const rawValues: unknown[] = new Array(fields.length).fill(undefined);
    if (problem !== undefined || !isObject(value)) {
      this.#onProblem({ line, field: null, reason: problem ?? 'it is not a JSON object' });
      return { line, values: null, system: {}, rawValues };
    }
    let system: SystemValues | null = {};
    let isGood = true;
    const refuse = (field: string, reason: string): void => {
      isGood = false;
      this.#onProblem({ line, field: field.slice(0, 200), reason });
    };
    for (const key of Object.keys(value)) {
      const target = this.#targetOf(key);
      if (target === undefined) refuse(key, 'is not in the structure');
      else if (typeof target === 'string')
        system = system && this.#withSystemValue(system, target, value[key], line);
      else if (target !== null)
        if (rawValues[target] === undefined) rawValues[target] = value[key];
        else refuse(key, 'is given twice');
    }
    for (const kept of this.#keptColumns)
      if (system !== null && system[kept] === undefined) refuse(kept, 'is missing, and should be kept');
    return this.#checked(rawValues, isGood ? system : null, line);
  }

  /** Adds a system value; null: it has a problem. */
  #withSystemValue(
    system: SystemValues,
    name: SystemColumn,
    cell: unknown,
    line: number,
  ): SystemValues | null {
    const reading = readSystemValue(name, cell);
    if ('value' in reading) return { ...system, [name]: reading.value };
    this.#onProblem({ line, field: name, reason: reading.problem });
    return null;
  }

  /** @param system null: the record already has problems */
  #checked(rawValues: readonly unknown[], system: SystemValues | null, line: number): FileRecord {
    if (system === null) return { line, values: null, system: {}, rawValues };
    const { fields } = this.#structure;
    const values: unknown[] = rawValues.slice();
    let isGood = true;
    for (let place = 0; place < fields.length; place++) {
      const field = fields[place] as Field;
      if (this.#keepsNull && values[place] === null && !field.required) continue;
      const isHash = this.#keepsHashes && field.hashed;
      const value = values[place];
      if (!isHash && isPlainValue(field, value)) continue;
      const reading = isHash ? readHash(field, value) : this.#readGiven(field, value, place);
      if ('value' in reading) values[place] = reading.value;
      else {
        isGood = false;
        this.#onProblem({ line, field: field.name, reason: reading.problem });
      }
    }
    if (isGood && isTable(this.#reading) && charactersOf(values) > this.#reading.largest) {
      isGood = false;
      const reason = `it has more than ${this.#reading.largest} characters`;
      this.#onProblem({ line, field: null, reason });
    }
    return { line, values: isGood ? (values as RecordValues) : null, system, rawValues };
  }

  #readGiven(field: Field, value: unknown, place: number): ReturnType<typeof readGiven> {
    if (typeof value !== 'string' || !this.#areTimes[place]) return readGiven(field, value);
    const time = fileTime(value, this.#zone);
    return typeof time === 'string' ? readGiven(field, time) : time;
  }
}

export function noField(column: string, field: string): string {
  return `the column ${shownName(column)} goes to ${shownName(field)}, which is no field`;
}

export function sameField(field: string): string {
  return `two columns go to the field ${shownName(field)}`;
}

/** @param index from 0 */
export function unnamedColumn(index: number): string {
  return `column ${index + 1} has no name: columns={"":null} leaves it out, and {"":"row"} names it`;
}

/** @param line of the names; null: the format has no lines */
export function namedTwice(name: string, line: number | null): string {
  if (name === '') return 'two of its columns have no name';
  return line === null
    ? `two of its columns have the name ${shownName(name)}`
    : `its first line names ${shownName(name)} twice`;
}

/** Characters of all texts. */
function charactersOf(values: readonly unknown[]): number {
  let characters = 0;
  for (const value of values) if (typeof value === 'string') characters += value.length;
  return characters;
}
