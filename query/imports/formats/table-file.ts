import { type FileHandle, open } from 'node:fs/promises';
import { FileProblem } from './file-problem.ts';
import type { SourcePiece } from './source-record.ts';

/** The rows of a file by the reader of a package. @param damaged what a failure of the package says of the file */
export async function* withTableFile(
  path: string,
  damaged: string,
  piecesOf: (handle: FileHandle, size: number) => AsyncIterable<SourcePiece>,
): AsyncGenerator<SourcePiece> {
  const handle = await open(path);
  try {
    yield* piecesOf(handle, (await handle.stat()).size);
  } catch (error) {
    throw error instanceof FileProblem ? error : new FileProblem(null, damaged);
  } finally {
    await handle.close();
  }
}
