import { invalidBody } from '#kernel/errors/catalogue.ts';
import { isSystemKey } from '#records/structure/field.ts';
import { structureOfColumns } from '#records/structure/infer-structure.ts';
import type { SpacePath, Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../formats/file-problem.ts';
import type { SourcePiece } from '../formats/source-record.ts';
import { isTable, sourcePieces } from '../formats/source-records.ts';
import { type FileReading, FileRecords, type RecordProblem, unnamedColumn } from './file-records.ts';
import { FileShape, mostSampledPieces, type Remarks, type SuggestedChoices } from './file-shape.ts';
import { threadResult } from './worker-thread.ts';

/** Records that are checked. */
const previewed = 1000;
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

/** The columns and values of a file's first records. */
export interface Preview {
  readonly structure: Structure;
  /** With the slugs of their fields; null: the column is left out. */
  readonly columns: readonly { readonly name: string; readonly field: string | null }[];
  /** In the order of the columns, with long values cut. */
  readonly rows: readonly { readonly line: number; readonly values: readonly unknown[] }[];
  readonly records: number;
  readonly problems: readonly RecordProblem[];
  readonly remarks: Remarks;
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
    throw error instanceof FileProblem ? invalidBody(`The file cannot be read: ${error.message}`) : error;
  }
}

export async function previewOf(task: PreviewTask): Promise<Preview> {
  const { reading, place } = task;
  const shape = new FileShape(reading, task);
  const cut = await forEachPiece(task, (piece) => shape.note(piece));
  const first = cut ?? (shape.columns.length === 0 ? shape.problem : null);
  if (task.structure === null && first !== null)
    throw invalidBody(
      `The file cannot be read: ${first.line === null ? '' : `line ${first.line}: `}${first.reason}`,
    );
  const structure = task.structure ?? structureOfColumns(shape.fields(), place);
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
      if (!read(piece) || ++pieces === mostSampledPieces) return null;
    }
    return null;
  } catch (error) {
    const problem = problemOf(error);
    return isStart ? null : problem;
  }
}
