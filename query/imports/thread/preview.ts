import { invalidBody } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { unescapeFormula } from '#records/sql/export-columns.ts';
import { isSystemKey } from '#records/structure/field.ts';
import { inferStructure } from '#records/structure/infer-structure.ts';
import { isObject } from '#records/structure/is-object.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { SourcePiece, SourceRecord } from '../formats/source-record.ts';
import { isTable, sourcePieces } from '../formats/source-records.ts';
import { plainValue } from '../formats/table-cells.ts';
import { isJsonNumber } from './cell-values.ts';
import { type FileReading, FileRecords, type RecordProblem } from './file-records.ts';
import { startThread, threadFailure } from './worker-thread.ts';

/** Records that are looked at, pieces of a text (source-records.ts), and records that are shown. */
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
  /** Null: the file says of one. */
  readonly structure: Structure | null;
  readonly place: SpacePath;
  /** The file is the beginning of one: what it breaks off in does not count. */
  readonly isStart: boolean;
}

/** The columns and values of a file's first records. */
export interface Preview {
  readonly structure: Structure;
  /** With slugs of their fields; null: a column is left out. */
  readonly columns: readonly { readonly name: string; readonly field: string | null }[];
  /** By columns, long values cut. */
  readonly rows: readonly { readonly line: number; readonly values: readonly unknown[] }[];
  readonly records: number;
  readonly problems: readonly RecordProblem[];
}

export type PreviewOutcome = { readonly preview: Preview } | { readonly refused: string };

/** Reads the first records of a file on a thread of its own. Throws a 400 where they say of no structure. */
export async function runPreview(task: PreviewTask, signal: AbortSignal): Promise<Preview> {
  const { reading, place, isStart, path, structure } = task;
  const worker = await startThread('preview-thread', { reading, place, isStart, path, structure });
  try {
    const answered = new Promise<PreviewOutcome>((resolve) => worker.on('message', resolve));
    const outcome = await withDeadline(signal, timeLimit, (limit) =>
      Promise.race([answered, threadFailure(worker, limit.signal)]),
    );
    if ('preview' in outcome) return outcome.preview;
    throw invalidBody(outcome.refused);
  } catch (error) {
    throw error instanceof FileProblem ? invalidBody(`The file can not be read: ${error.message}`) : error;
  } finally {
    await worker.terminate();
  }
}

export async function previewOf(task: PreviewTask): Promise<Preview> {
  const { reading, place } = task;
  const shape = new Shape(reading);
  const cut = await eachOf(task, (piece) => shape.note(piece));
  if (task.structure === null && cut !== null) throw invalidBody(`The file can not be read: ${cut.reason}`);
  const structure = task.structure ?? inferStructure(shape.sample(), place);
  const problems: RecordProblem[] = [];
  const columns = shape.columns.map((name) => ({ name, field: fieldOf(name, structure, reading) }));
  const unknown = shape.isNamed
    ? columns.filter(({ name, field }) => field === null && !isLeftOut(name, reading))
    : [];
  for (const { name } of unknown)
    problems.push({
      line: 1,
      field: name.slice(0, 200),
      reason: 'is no field of the record space',
    });
  const others = Object.fromEntries(unknown.map(({ name }) => [name, null]));
  const lenient = { ...reading, columns: { ...reading.columns, ...others } };
  let records = 0;
  const read = (): Promise<RecordProblem | null> => {
    const file = new FileRecords(structure, lenient, (problem) => void problems.push(problem));
    return eachOf(task, (piece) => {
      for (const _ of file.read(piece)) if (++records === previewed) return false;
      return true;
    });
  };
  const failed = await read().catch((error: unknown) => problemOf(error));
  if (failed !== null) problems.push(failed);
  return { structure, columns, rows: shape.rows, records, problems };
}

/** The columns of the first records, their types, and some of their values. */
class Shape {
  readonly #reading: FileReading;
  readonly #types = new Map<string, Types>();
  readonly rows: { readonly line: number; readonly values: readonly unknown[] }[] = [];
  /** Whether the columns have names of the file. */
  isNamed = false;
  #records = 0;

  constructor(reading: FileReading) {
    this.#reading = reading;
  }

  get columns(): readonly string[] {
    return [...this.#types.keys()];
  }

  /** Answers whether it wants more. */
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
      throw invalidBody('Without names in its first line a file says of no structure');
    return Object.fromEntries(
      [...this.#types].flatMap(([column, types]) => {
        const named = this.#reading.columns[column];
        if (named === null || isSystemKey(column)) return [];
        return [[named ?? column, types.sample()]];
      }),
    );
  }

  #noteNames(columns: readonly string[]): void {
    const names = this.#reading.unescapesFormulas ? columns.map(unescapeFormula) : columns;
    this.isNamed = true;
    for (const name of names) {
      if (name === '')
        throw new FileProblem(1, 'its first line should name its columns, and one has no name');
      if (this.#types.has(name)) throw new FileProblem(1, `its first line names ${shownName(name)} twice`);
      this.#typesOf(name);
    }
  }

  #typesOf(name: string): Types {
    const types = this.#types.get(name) ?? new Types();
    this.#types.set(name, types);
    return types;
  }

  #noteCells(given: readonly unknown[], line: number): void {
    const cells = isTable(this.#reading) ? given.map(plainValue) : given;
    if (!this.isNamed) for (const index of cells.keys()) this.#typesOf(String(index + 1));
    const types = [...this.#types.values()];
    const ofTable = isTable(this.#reading);
    for (const [index, one] of types.entries())
      one.note(ofTable ? tableValue(cells[index]) : cellValue((cells[index] ?? null) as string | null));
    if (this.rows.length < shownRows)
      this.rows.push({ line, values: types.map((_, index) => shownValue(cells[index])) });
  }

  #noteJson({ value, line }: SourceRecord): void {
    if (!isObject(value)) return;
    for (const [name, one] of Object.entries(value)) this.#typesOf(name).note(one);
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

/** @param read answers whether it wants more. Answers why the file could not be read to its end; null: it could */
async function eachOf(
  { path, reading, isStart }: PreviewTask,
  read: (piece: SourcePiece) => boolean,
): Promise<RecordProblem | null> {
  let pieces = 0;
  try {
    for await (const piece of sourcePieces(path, reading, Number.MAX_SAFE_INTEGER)) {
      // the last record may go on behind the beginning
      if (isStart && piece.isLast) return null;
      if (!read(piece) || ++pieces === mostPieces) return null;
    }
    return null;
  } catch (error) {
    const problem = problemOf(error);
    return isStart ? null : problem;
  }
}

/** A value of each type, the likeliest first: a column is of the first one that all of its values have. */
const samples = [0, true, [], {}, ''] as const;

/** The types that all values of a column have. */
class Types {
  readonly #left = new Set<string>();
  #isBegun = false;

  note(value: unknown): void {
    if (value === null || value === undefined) return;
    const kind = kindOf(value);
    if (!this.#isBegun) this.#left.add(kind);
    else if (!this.#left.has(kind)) this.#left.clear();
    this.#isBegun = true;
  }

  /** A value of the type; without values, and of several types, it is text. */
  sample(): unknown {
    return samples.find((sample) => this.#left.has(kindOf(sample))) ?? '';
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

/** What a cell would be by its look. */
function cellValue(cell: string | null): unknown {
  if (cell === null || cell === '') return null;
  if (isJsonNumber(cell)) return 0;
  if (/^(?:true|false)$/i.test(cell)) return true;
  return tableValue(cell);
}

/** Arrays and objects may be texts of JSON. */
function tableValue(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null, withoutBigInts);
  if (text.length > shownCharacters) return `${text.slice(0, shownCharacters)}…`;
  return typeof value === 'string' ? value : (JSON.parse(text) as unknown);
}

function withoutBigInts(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
