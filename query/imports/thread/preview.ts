import { invalidBody } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { unescapeFormula } from '#records/sql/export-columns.ts';
import { isSystemKey } from '#records/structure/field.ts';
import { inferStructure } from '#records/structure/infer-structure.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';
import { isObject } from '#records/types/is-object.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { SourcePiece, SourceRecord } from '../formats/source-record.ts';
import { isTable, sourcePieces } from '../formats/source-records.ts';
import { plainValue } from '../formats/table-cells.ts';
import { hasDecimalComma } from './cell-values.ts';
import { type CellVocabulary, cellVocabulary } from './cell-words.ts';
import { ColumnTypes, kindsOfCell, kindsOfTableValue, kindsOfValue } from './column-types.ts';
import {
  type FileReading,
  FileRecords,
  namedTwice,
  type RecordProblem,
  unnamedColumn,
} from './file-records.ts';
import { threadResult } from './worker-thread.ts';

/** Records that are checked, pieces of a text that are read (source-records.ts), and records that are shown. */
const previewed = 1000;
const mostPieces = 128;
const shownRows = 20;
/** Characters of a shown value. */
const shownCharacters = 200;
/** Milliseconds. */
const timeLimit = 60_000;

export interface PreviewTask {
  readonly path: string;
  readonly reading: FileReading;
  /** Null: infer it from the file. */
  readonly structure: Structure | null;
  readonly place: SpacePath;
  /** Whether the file is only the beginning of one: its last, incomplete record is ignored. */
  readonly isStart: boolean;
  /** Whether nothing will be imported: a column without a name is then one of the problems, and no error. */
  readonly isDry: boolean;
}

/** Values of the query parameters with these names that would give more columns a type; null: not needed. */
export interface SuggestedChoices {
  readonly nulls: string | null;
  readonly true: string | null;
  readonly decimal: string | null;
}

/** The columns and values of a file's first records. */
export interface Preview {
  readonly structure: Structure;
  /** With the slugs of their fields; null: the column is left out. */
  readonly columns: readonly { readonly name: string; readonly field: string | null }[];
  /** In the order of the columns, with long values cut. */
  readonly rows: readonly { readonly line: number; readonly values: readonly unknown[] }[];
  readonly records: number;
  readonly problems: readonly RecordProblem[];
  /** About TEXT columns whose values are mostly of another type. `reason` completes a sentence that begins with the column. */
  readonly remarks: readonly { readonly column: string; readonly reason: string }[];
  readonly suggested: SuggestedChoices;
}

export type PreviewOutcome = { readonly preview: Preview } | { readonly refused: string };

/** Reads the first records of a file on its own thread. Throws a 400 if no structure can be inferred from them. */
export async function runPreview(task: PreviewTask, signal: AbortSignal): Promise<Preview> {
  const { reading, place, isStart, isDry, path, structure } = task;
  const module = new URL('./preview-thread', import.meta.url);
  const data = { reading, place, isStart, isDry, path, structure };
  try {
    const outcome = await threadResult(module, data, (outcome: PreviewOutcome) => outcome, {
      signal,
      timeout: timeLimit,
    });
    if ('preview' in outcome) return outcome.preview;
    throw invalidBody(outcome.refused);
  } catch (error) {
    throw error instanceof FileProblem ? invalidBody(`The file can not be read: ${error.message}`) : error;
  }
}

export async function previewOf(task: PreviewTask): Promise<Preview> {
  const { reading, place } = task;
  const shape = new Shape(task);
  const cut = await forEachPiece(task, (piece) => shape.note(piece));
  const first = cut ?? (shape.columns.length === 0 ? shape.problem : null);
  if (task.structure === null && first !== null)
    throw invalidBody(
      `The file can not be read: ${first.line === null ? '' : `line ${first.line}: `}${first.reason}`,
    );
  const structure = task.structure ?? inferStructure(shape.sample(), place);
  const problems: RecordProblem[] = [];
  const columns = shape.columns.map((name) => ({ name, field: fieldOf(name, structure, reading) }));
  const unmatched = shape.isNamed
    ? columns.filter(({ name, field }) => field === null && !isLeftOut(name, reading))
    : [];
  const line = isTable(reading) ? null : 1;
  for (const { name } of unmatched)
    if (name === '') problems.push({ line, field: null, reason: unnamedColumn(shape.columns.indexOf('')) });
    else problems.push({ line, field: name.slice(0, 200), reason: 'is no field of the record space' });
  const leftOut = Object.fromEntries(unmatched.map(({ name }) => [name, null]));
  const lenient = { ...reading, columns: { ...reading.columns, ...leftOut } };
  let records = 0;
  const read = (): Promise<RecordProblem | null> => {
    const file = new FileRecords(structure, lenient, (problem) => void problems.push(problem));
    return forEachPiece(task, (piece) => {
      for (const _ of file.read(piece)) if (++records === previewed) return false;
      return true;
    });
  };
  const failure = await read().catch((error: unknown) => problemOf(error));
  if (failure !== null) problems.push(failure);
  const { rows, remarks, suggested } = shape;
  return { structure, columns, rows, records, problems, remarks, suggested };
}

/** The columns of the first records, their types, and some of their values. */
class Shape {
  readonly #reading: FileReading;
  readonly #isDry: boolean;
  readonly #words: CellVocabulary;
  readonly #types = new Map<string, ColumnTypes>();
  #decimalCommas = 0;
  #decimalPoints = 0;
  readonly rows: { readonly line: number; readonly values: readonly unknown[] }[] = [];
  /** Whether the file names its columns. */
  isNamed = false;
  /** The problem of the first record that can not be read. */
  problem: RecordProblem | null = null;
  #records = 0;

  constructor({ reading, isDry }: Pick<PreviewTask, 'reading' | 'isDry'>) {
    this.#reading = reading;
    this.#isDry = isDry;
    this.#words = cellVocabulary(reading.words);
  }

  get columns(): readonly string[] {
    return [...this.#types.keys()];
  }

  get remarks(): Preview['remarks'] {
    return [...this.#types].flatMap(([column, { remark }]) =>
      remark === null || this.#isLeftOut(column) ? [] : [{ column, reason: remark }],
    );
  }

  get suggested(): SuggestedChoices {
    const nothing = { nulls: null, true: null, decimal: null };
    if (this.#reading.format !== 'csv') return nothing;
    const columns = [...this.#types.values()];
    const nulls = new Set([...(this.#reading.nulls ?? []), ...columns.flatMap((column) => column.nulls)]);
    const trues = new Set(columns.flatMap((column) => column.true ?? []));
    const hasCommas = this.#decimalCommas > 0 && this.#decimalPoints === 0;
    return {
      nulls: columns.some((column) => column.nulls.length > 0) ? [...nulls].join(',') : null,
      true: trues.size > 0 ? [...(this.#reading.words?.true ?? []), ...trues].join(',') : null,
      decimal: hasCommas && !this.#words.hasComma ? ',' : null,
    };
  }

  /** Returns whether more records are needed. */
  note({ columns, records }: SourcePiece): boolean {
    if (columns !== null && !this.isNamed) this.#noteNames(columns);
    for (const record of records) {
      if (record.cells === undefined) this.#noteJson(record);
      else this.#noteCells(record.cells, record.line);
      if (++this.#records === previewed) return false;
    }
    return true;
  }

  /** An object with a value of the type of each column that is not left out. */
  sample(): Record<string, unknown> {
    if (!this.isNamed && this.#reading.format === 'csv')
      throw invalidBody('No structure can be inferred from a CSV file whose first line has no column names');
    const fields = [...this.#types].flatMap(([column, types]) =>
      this.#isLeftOut(column) ? [] : [[this.#reading.columns[column] ?? column, types.sample()] as const],
    );
    const [first] = this.columns;
    if (fields.length === 0 && first !== undefined)
      throw invalidBody(
        `No column of the file becomes a field: ${shownName(first)} ${isSystemKey(first) ? 'is set by the service, unless columns names another field for it' : 'is left out'}`,
      );
    return Object.fromEntries(fields);
  }

  #isLeftOut(column: string): boolean {
    const { columns } = this.#reading;
    return Object.hasOwn(columns, column) ? columns[column] === null : column === '' || isSystemKey(column);
  }

  #noteNames(columns: readonly string[]): void {
    const names = this.#reading.unescapesFormulas ? columns.map(unescapeFormula) : columns;
    this.isNamed = true;
    const line = isTable(this.#reading) ? null : 1;
    for (const [index, name] of names.entries()) {
      if (this.#types.has(name)) throw new FileProblem(line, namedTwice(name, line));
      if (name === '' && !this.#isDry && !Object.hasOwn(this.#reading.columns, ''))
        throw new FileProblem(line, unnamedColumn(index));
      this.#typesOf(name);
    }
  }

  #typesOf(name: string): ColumnTypes {
    const types = this.#types.get(name) ?? new ColumnTypes();
    this.#types.set(name, types);
    return types;
  }

  #noteCells(rawCells: readonly unknown[], line: number): void {
    const ofTable = isTable(this.#reading);
    const cells = ofTable ? rawCells.map((cell) => plainValue(cell, this.#reading.nanIsNull)) : rawCells;
    if (!this.isNamed) for (const index of cells.keys()) this.#typesOf(String(index + 1));
    const types = [...this.#types.values()];
    for (const [index, type] of types.entries()) {
      const cell = cells[index] ?? null;
      if (ofTable) type.note(cell, line, kindsOfTableValue(cell));
      else {
        type.note(cell, line, kindsOfCell(cell as string | null, this.#words));
        this.#noteFraction(cell as string | null);
      }
    }
    if (this.rows.length < shownRows)
      this.rows.push({ line, values: types.map((_, index) => shownValue(cells[index])) });
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
    for (const [name, item] of Object.entries(value))
      this.#typesOf(name).note(item, line, kindsOfValue(item));
    if (this.rows.length < shownRows)
      this.rows.push({ line, values: this.columns.map((name) => shownValue(value[name])) });
  }
}

function fieldOf(column: string, structure: Structure, { columns }: FileReading): string | null {
  const name = Object.hasOwn(columns, column) ? columns[column] : column;
  return typeof name === 'string' ? (structure.lookup.get(name)?.slug ?? null) : null;
}

function isLeftOut(column: string, { columns }: FileReading): boolean {
  return isSystemKey(column) || Object.hasOwn(columns, column);
}

function problemOf(error: unknown): RecordProblem {
  if (!(error instanceof FileProblem)) throw error;
  return { line: error.line, field: null, reason: error.message };
}

/** Resolves with why the file could not be read to its end; null: it could. @param read returns whether to continue */
async function forEachPiece(
  { path, reading, isStart }: PreviewTask,
  read: (piece: SourcePiece) => boolean,
): Promise<RecordProblem | null> {
  let pieces = 0;
  try {
    for await (const piece of sourcePieces(path, reading, Number.MAX_SAFE_INTEGER)) {
      // the last record may be incomplete
      if (isStart && piece.isLast) return null;
      if (!read(piece) || ++pieces === mostPieces) return null;
    }
    return null;
  } catch (error) {
    const problem = problemOf(error);
    return isStart ? null : problem;
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
  return typeof value === 'bigint' ? String(value) : value;
}
