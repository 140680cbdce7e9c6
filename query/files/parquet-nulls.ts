import { FileProblem } from '../imports/formats/file-problem.ts';
import { findNullGroup, type NullGroup } from '../imports/formats/parquet-nulls.ts';
import { parquetProblem } from '../imports/formats/parquet-rows.ts';
import { type ThreadLimits, threadResult } from '../imports/thread/worker-thread.ts';
import { type ByteSource, fileOf } from './byte-source.ts';

/** The work of the thread (parquet-nulls-thread.ts). */
export interface NullTask {
  readonly source: ByteSource;
  /** Bytes of the file. */
  readonly size: number;
  /** Names of the columns that are looked at. */
  readonly columns: ReadonlySet<string>;
  /** How many rows are looked at; Infinity: all. */
  readonly rows: number;
}

/** Its message; `problem`: why the levels can not be read. */
export type FoundNull = { readonly found: NullGroup | null } | { readonly problem: string };

/**
 * The first list, map or struct of a Parquet file that is null; null: none. The engine reads it as an empty one, because its
 * own can not be null.
 */
export async function firstNullGroup(task: NullTask, limits: ThreadLimits): Promise<NullGroup | null> {
  const module = new URL('./parquet-nulls-thread', import.meta.url);
  const message = await threadResult(module, task, (message: FoundNull) => message, limits);
  if ('problem' in message) throw new FileProblem(null, message.problem);
  return message.found;
}

/** The same, in the thread. */
export async function findNull({ source, size, columns, rows }: NullTask): Promise<FoundNull> {
  try {
    return { found: await findNullGroup(fileOf(source, size), columns, rows) };
  } catch (error) {
    const { message } = error instanceof FileProblem ? error : { message: parquetProblem(error as Error) };
    return { problem: message };
  }
}
