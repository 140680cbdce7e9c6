import type { TypedField } from '#records/types/field-types.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText } from '../imports/formats/file-text.ts';
import { parquetProblem, parquetSample } from '../imports/formats/parquet-rows.ts';
import type { SourcePiece } from '../imports/formats/source-record.ts';
import { isLeftOut, textPieces } from '../imports/formats/source-records.ts';
import type { FileReading } from '../imports/thread/file-records.ts';
import { FileShape, mostSampledPieces, sampledRows } from '../imports/thread/file-shape.ts';
import type { LocalTimes } from '../imports/thread/local-times.ts';
import { type ThreadLimits, threadResult } from '../imports/thread/worker-thread.ts';
import { type ByteSource, bytesOf, fileOf } from './byte-source.ts';

/** What an import into a new space would make of a file. */
export interface TableShape {
  /** Those that are not left out, in their order. */
  readonly columns: readonly (TypedField & { readonly name: string })[];
  readonly zone: LocalTimes | null;
}

/** The work of the thread (table-shape-thread.ts). */
export interface ShapeTask {
  readonly source: ByteSource;
  /** Bytes of the file. */
  readonly size: number;
  readonly reading: FileReading;
}

/** Its message. */
export type FoundShape =
  | { readonly shape: TableShape }
  | { readonly problem: string; readonly line: number | null };

/** Files of this size take less time than the start of a thread. Bytes. */
const smallFile = 64 * 1024;

/** Throws a FileProblem if the beginning of the file can not be read. */
export async function tableShape(task: ShapeTask, limits: ThreadLimits): Promise<TableShape> {
  const module = new URL('./table-shape-thread', import.meta.url);
  const { format, timeZone } = task.reading;
  const isSmall = task.size <= smallFile && format !== 'parquet' && timeZone === undefined;
  const found = isSmall
    ? await findShape(task)
    : await threadResult(module, task, (found: FoundShape) => found, limits);
  if ('problem' in found) throw new FileProblem(found.line, found.problem);
  return found.shape;
}

/** The same, in the thread. */
export async function findShape(task: ShapeTask): Promise<FoundShape> {
  try {
    return { shape: await shapeOf(task) };
  } catch (error) {
    if (error instanceof FileProblem) return { problem: error.message, line: error.line };
    if (task.reading.format === 'parquet') return { problem: parquetProblem(error as Error), line: null };
    throw error;
  }
}

async function shapeOf({ source, size, reading }: ShapeTask): Promise<TableShape> {
  const shape = new FileShape(reading, { isDry: true });
  let pieces = 0;
  for await (const piece of piecesOf({ source, size, reading }))
    if (!shape.note(piece) || ++pieces === mostSampledPieces) break;
  if (shape.problem !== null) throw new FileProblem(shape.problem.line, shape.problem.reason);
  const columns = shape.columns
    .filter((name) => !isLeftOut(name, reading))
    .map((name) => ({ name, ...shape.typeOf(name) }));
  return { columns, zone: shape.zone };
}

function piecesOf({ source, size, reading }: ShapeTask): AsyncGenerator<SourcePiece> {
  if (reading.format !== 'parquet')
    return textPieces(decodeText(bytesOf(source), Number.MAX_SAFE_INTEGER), reading);
  return parquetSample(fileOf(source, size), (name) => isLeftOut(name, reading), sampledRows);
}
