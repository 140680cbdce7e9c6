import { shownName } from '#kernel/errors/shown-name.ts';
import type { Structure } from '#records/structure/structure.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText, type FileBytes } from '../imports/formats/file-text.ts';
import { textPieces } from '../imports/formats/source-records.ts';
import { type FileReading, FileRecords, type RecordProblem } from '../imports/thread/file-records.ts';

/**
 * What an import would refuse first in a text, in its words; null: nothing. It takes an import's time, so it is asked only
 * where the engine failed. @param structure null: not known
 */
export async function firstProblem(
  file: FileBytes,
  reading: FileReading,
  structure: Structure | null,
): Promise<FileProblem | null> {
  let found: RecordProblem | null = null;
  const records =
    structure &&
    new FileRecords(structure, reading, (problem) => {
      found ??= problem;
    });
  try {
    for await (const piece of textPieces(decodeText(file, Number.MAX_SAFE_INTEGER), reading)) {
      if (records === null) {
        for (const { line, problem } of piece.records)
          if (problem !== undefined) return new FileProblem(line, problem);
      } else for (const _ of records.read(piece)) if (found !== null) return sentenceOf(found);
    }
  } catch (error) {
    if (error instanceof FileProblem) return error;
    throw error;
  }
  return null;
}

function sentenceOf({ line, field, reason }: RecordProblem): FileProblem {
  return new FileProblem(line, field === null ? reason : `${shownName(field)} ${reason}`);
}
