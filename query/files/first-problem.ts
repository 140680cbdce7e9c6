import { shownName } from '#kernel/errors/shown-name.ts';
import type { Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText } from '../imports/formats/file-text.ts';
import { textPieces } from '../imports/formats/source-records.ts';
import { type FileReading, FileRecords, type RecordProblem } from '../imports/thread/file-records.ts';
import { type ThreadLimits, threadResult } from '../imports/thread/worker-thread.ts';
import { type ByteSource, bytesOf } from './byte-source.ts';

/** The work of the thread (first-problem-thread.ts). */
export interface ProblemTask {
  readonly source: ByteSource;
  readonly reading: FileReading;
  /** Null: unknown. */
  readonly structure: Structure | null;
}

/** Its message. */
export interface FoundProblem {
  /** Null: there is none. */
  readonly problem: { readonly line: number | null; readonly reason: string } | null;
}

/**
 * The first problem that an import would report for a text file; null: none. It reads the file as slowly as an import, so
 * it is only used after the engine failed.
 */
export async function firstProblem(task: ProblemTask, limits: ThreadLimits): Promise<FileProblem | null> {
  const module = new URL('./first-problem-thread', import.meta.url);
  const { problem } = await threadResult(module, task, (found: FoundProblem) => found, limits);
  return problem && new FileProblem(problem.line, problem.reason);
}

/** The same, in the thread. */
export async function findProblem({ source, reading, structure }: ProblemTask): Promise<FileProblem | null> {
  let first: RecordProblem | null = null;
  const records =
    structure &&
    new FileRecords(structure, reading, (problem) => {
      first ??= problem;
    });
  try {
    for await (const piece of textPieces(decodeText(bytesOf(source), Number.MAX_SAFE_INTEGER), reading)) {
      if (records === null) {
        for (const { line, problem } of piece.records)
          if (problem !== undefined) return new FileProblem(line, problem);
      } else for (const _ of records.read(piece)) if (first !== null) return fileProblemOf(first);
    }
  } catch (error) {
    if (error instanceof FileProblem) return error;
    throw error;
  }
  return null;
}

function fileProblemOf({ line, field, reason }: RecordProblem): FileProblem {
  return new FileProblem(line, field === null ? reason : `${shownName(field)} ${reason}`);
}
