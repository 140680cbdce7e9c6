import { shownName } from '#kernel/errors/shown-name.ts';
import type { Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText, type FileBytes } from '../imports/formats/file-text.ts';
import { textPieces } from '../imports/formats/source-records.ts';
import { type FileReading, FileRecords, type RecordProblem } from '../imports/thread/file-records.ts';

/**
 * The first problem that an import would report for a text file; null: none. It reads the file as slowly as an import, so
 * it is only used after the engine failed. @param structure null: unknown
 */
export async function firstProblem(
  file: FileBytes,
  reading: FileReading,
  structure: Structure | null,
): Promise<FileProblem | null> {
  let first: RecordProblem | null = null;
  const records =
    structure &&
    new FileRecords(structure, reading, (problem) => {
      first ??= problem;
    });
  try {
    for await (const piece of textPieces(decodeText(file, Number.MAX_SAFE_INTEGER), reading)) {
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
