import { type FileHandle, open } from 'node:fs/promises';
import { FileProblem } from './file-problem.ts';
import type { SourcePiece } from './source-record.ts';

/** Reads the rows of a file with the reader of a package. @param problemOf the problem of the file, from an error of the package */
export async function* withTableFile(
  path: string,
  problemOf: (error: Error) => string,
  piecesOf: (handle: FileHandle, size: number) => AsyncIterable<SourcePiece>,
): AsyncGenerator<SourcePiece> {
  const handle = await open(path);
  try {
    yield* piecesOf(handle, (await handle.stat()).size);
  } catch (error) {
    throw error instanceof FileProblem ? error : new FileProblem(null, problemOf(error as Error));
  } finally {
    await handle.close();
  }
}
