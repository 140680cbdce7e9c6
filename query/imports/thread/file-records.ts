import { shownName } from '#kernel/errors/shown-name.ts';
import type { RecordValues } from '#records/input/validate-record.ts';
import { readGiven } from '#records/input/validate-record.ts';
import { unescapeFormula } from '#records/sql/export-columns.ts';
import { type Field, isSystemKey } from '#records/structure/field.ts';
import { isPlainValue } from '#records/structure/field-value.ts';
import { isObject } from '#records/structure/is-object.ts';
import type { Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { SourcePiece, SourceRecord } from '../formats/source-record.ts';
import { isTable, type SourceReading } from '../formats/source-records.ts';
import { plainValue } from '../formats/table-cells.ts';
import { readCell, readTableCell } from './cell-values.ts';
import { type CellWords, type KnownWords, knownWords } from './cell-words.ts';
import { type Kept, type KeptColumn, type OwnValues, readHash, readOwn } from './kept-values.ts';

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
  /** In their stored form; null: they have problems. */
  readonly values: RecordValues | null;
  /** What it keeps of where it comes from. */
  readonly own: OwnValues;
  /** Its values as the file has them, by places of the structure; undefined where there is none. */
  readonly given: readonly unknown[];
}

/** How records are made of a file. */
export interface FileReading extends SourceReading {
  /** Of CSV: apostrophes before texts that look like formulas are taken off, as an export puts them there. */
  readonly unescapesFormulas: boolean;
  /** Of CSV: words for true and false beside those, and the character before a fraction. */
  readonly words?: CellWords;
  /** Of a table: numbers that are not finite are null. */
  readonly nanIsNull?: boolean;
  /** Fields of columns, by name or slug; null: the column is left out. Others are fields of their own names. */
  readonly columns: Readonly<Record<string, string | null>>;
  /** What the service sets otherwise. */
  readonly keep: readonly Kept[];
}

/** Where a value goes: a place of the structure, a column that is kept, or nowhere. */
type Goal = number | KeptColumn | null;

/** Records of a file, checked by a structure as those of inserts are. */
export class FileRecords {
  readonly #structure: Structure;
  readonly #reading: FileReading;
  readonly #complain: (problem: RecordProblem) => void;
  /** Of columns that the reading names. */
  readonly #named: ReadonlyMap<string, Goal>;
  readonly #words: KnownWords;
  readonly #keepsHashes: boolean;
  readonly #kept: readonly KeptColumn[];
  /** An empty cell of a table is null, even if the field has a default by now. */
  readonly #keepsNull: boolean;
  /** Of the columns of a file. */
  #goals: readonly Goal[] | null = null;

  /** Throws a FileProblem where a column should go to a field that is not there. */
  constructor(structure: Structure, reading: FileReading, complain: (problem: RecordProblem) => void) {
    this.#structure = structure;
    this.#reading = reading;
    this.#complain = complain;
    this.#words = knownWords(reading.words);
    this.#keepsHashes = reading.keep.includes('hashes');
    this.#kept = reading.keep.filter((name) => name !== 'hashes');
    this.#keepsNull = reading.keep.length > 0 && isTable(reading);
    this.#named = new Map(
      Object.entries(reading.columns).map(([column, name]) => {
        const place = name === null ? null : structure.places.get(name);
        if (place === undefined)
          throw new FileProblem(
            null,
            `the column ${shownName(column)} goes to ${shownName(String(name))}, which is no field`,
          );
        return [column, place];
      }),
    );
  }

  /** Throws a FileProblem where nothing behind can be read. */
  *read({ columns, records }: SourcePiece): Generator<FileRecord> {
    if (columns !== null) this.#goals ??= this.#goalsOf(columns);
    for (const record of records) {
      if (record.cells === undefined) yield this.#ofJson(record);
      else {
        this.#goals ??= this.#goalsInOrder(record.cells.length);
        yield this.#ofCells(record.cells, this.#goals, record.line);
      }
    }
  }

  #goalsOf(columns: readonly string[]): readonly Goal[] {
    const { unescapesFormulas } = this.#reading;
    const names = unescapesFormulas ? columns.map(unescapeFormula) : columns;
    const line = isTable(this.#reading) ? null : 1;
    const goals = names.map((name, index) => {
      const goal = this.#goalOf(name);
      if (goal !== undefined) return goal;
      if (name === '') throw new FileProblem(line, unnamedColumn(index));
      const should = line === null ? '' : '; its first line should name fields';
      throw new FileProblem(line, `column ${shownName(name)} is no field of the record space${should}`);
    });
    const lacks = this.#kept.find((name) => !goals.includes(name));
    if (lacks !== undefined) throw new FileProblem(line, `it has no column ${lacks}, which should be kept`);
    const { fields } = this.#structure;
    for (const [index, goal] of goals.entries())
      if (goal !== null && goals.indexOf(goal) < index) {
        const field = typeof goal === 'number' ? (fields[goal] as Field).name : goal;
        throw new FileProblem(line, `two columns are the field ${shownName(field)}`);
      }
    return goals;
  }

  /** Undefined: it is no field. */
  #goalOf(name: string): Goal | undefined {
    const named = this.#named.get(name) ?? (this.#named.has(name) ? null : this.#structure.places.get(name));
    if (named !== undefined) return named;
    if (isSystemKey(name)) return this.#kept.find((kept) => kept === name) ?? null;
    return undefined;
  }

  /** Columns without names are the fields in their order, unless the reading names them by their numbers. */
  #goalsInOrder(count: number): readonly Goal[] {
    const { fields } = this.#structure;
    if (this.#kept.length > 0) throw new FileProblem(1, 'without names of columns nothing can be kept');
    const length = this.#named.size > 0 ? count : fields.length;
    return Array.from({ length }, (_, index) => {
      const named = this.#named.get(String(index + 1));
      return named === undefined && index < fields.length ? index : (named ?? null);
    });
  }

  #ofCells(cells: readonly unknown[], goals: readonly Goal[], line: number): FileRecord {
    const { fields } = this.#structure;
    const given: unknown[] = new Array(fields.length).fill(undefined);
    if (cells.length !== goals.length) {
      const reason = `it has ${cells.length} cells, and there are ${goals.length} columns`;
      this.#complain({ line, field: null, reason });
      return { line, values: null, own: {}, given };
    }
    const { unescapesFormulas, nanIsNull = false } = this.#reading;
    const ofTable = isTable(this.#reading);
    let own: OwnValues | null = {};
    let isGood = true;
    for (let column = 0; column < goals.length; column++) {
      const goal = goals[column] ?? null;
      if (goal === null) continue;
      let cell = cells[column];
      if (unescapesFormulas && typeof cell === 'string') cell = unescapeFormula(cell);
      if (typeof goal === 'string') {
        own = own && this.#own(own, goal, ofTable ? plainValue(cell) : cell, line);
        continue;
      }
      const field = fields[goal] as Field;
      const reading =
        this.#keepsHashes && field.hashed
          ? { value: cell }
          : ofTable
            ? readTableCell(field, cell, nanIsNull)
            : readCell(field, cell as string | null, this.#words);
      if ('value' in reading) given[goal] = (cell ?? null) === null && this.#keepsNull ? null : reading.value;
      else {
        isGood = false;
        this.#complain({ line, field: field.name, reason: reading.problem });
      }
    }
    return this.#checked(given, isGood ? own : null, line);
  }

  #ofJson({ value, problem, line }: SourceRecord): FileRecord {
    const { fields } = this.#structure;
    const given: unknown[] = new Array(fields.length).fill(undefined);
    if (problem !== undefined || !isObject(value)) {
      this.#complain({ line, field: null, reason: problem ?? 'it is no JSON object' });
      return { line, values: null, own: {}, given };
    }
    let own: OwnValues | null = {};
    let isGood = true;
    const refuse = (field: string, reason: string): void => {
      isGood = false;
      this.#complain({ line, field: field.slice(0, 200), reason });
    };
    for (const key of Object.keys(value)) {
      const goal = this.#goalOf(key);
      if (goal === undefined) refuse(key, 'is not in the structure');
      else if (typeof goal === 'string') own = own && this.#own(own, goal, value[key], line);
      else if (goal !== null)
        if (given[goal] === undefined) given[goal] = value[key];
        else refuse(key, 'is given twice');
    }
    for (const kept of this.#kept)
      if (own !== null && own[kept] === undefined) refuse(kept, 'is missing, and should be kept');
    return this.#checked(given, isGood ? own : null, line);
  }

  /** With one value more; null: it has a problem. */
  #own(own: OwnValues, name: KeptColumn, cell: unknown, line: number): OwnValues | null {
    const reading = readOwn(name, cell);
    if ('value' in reading) return { ...own, [name]: reading.value };
    this.#complain({ line, field: name, reason: reading.problem });
    return null;
  }

  /** @param own null: there were problems */
  #checked(given: readonly unknown[], own: OwnValues | null, line: number): FileRecord {
    if (own === null) return { line, values: null, own: {}, given };
    const { fields } = this.#structure;
    const values: unknown[] = given.slice();
    let isGood = true;
    for (let place = 0; place < fields.length; place++) {
      const field = fields[place] as Field;
      if (this.#keepsNull && values[place] === null && !field.required) continue;
      const isHash = this.#keepsHashes && field.hashed;
      if (!isHash && isPlainValue(field, values[place])) continue;
      const reading = isHash ? readHash(field, values[place]) : readGiven(field, values[place]);
      if ('value' in reading) values[place] = reading.value;
      else {
        isGood = false;
        this.#complain({ line, field: field.name, reason: reading.problem });
      }
    }
    if (isGood && isTable(this.#reading) && charactersOf(values) > this.#reading.largest) {
      isGood = false;
      const reason = `it has more than ${this.#reading.largest} characters`;
      this.#complain({ line, field: null, reason });
    }
    return { line, values: isGood ? (values as RecordValues) : null, own, given };
  }
}

/** @param index from 0 */
export function unnamedColumn(index: number): string {
  return `column ${index + 1} has no name: columns={"":null} leaves it out, and {"":"row"} names it`;
}

/** Of the texts among values. */
function charactersOf(values: readonly unknown[]): number {
  let characters = 0;
  for (const value of values) if (typeof value === 'string') characters += value.length;
  return characters;
}
