import { FileProblem } from '../imports/formats/file-problem.ts';
import type { StoredFiles } from '../imports/jobs/stored-files.ts';
import type { FileFormat } from './file-format.ts';
import type { FileQuery } from './file-query.ts';

/** The bytes belong to another format: a reader of this one finds nothing better to say. */
export class OtherFormat extends FileProblem {}

/** Throws an OtherFormat if the first bytes of a text, or the last bytes of a Parquet file, belong to another format. */
export async function assertBytes(
  files: Pick<StoredFiles, 'read'>,
  { object, format, request }: Pick<FileQuery, 'object' | 'format' | 'request'>,
): Promise<void> {
  const { size } = object;
  const isTable = format.name === 'Parquet';
  const range = isTable
    ? { start: Math.max(0, size - 4), end: size - 1 }
    : { start: 0, end: Math.min(3, size - 1) };
  const chunks: Uint8Array[] = [];
  if (size > 0) for await (const chunk of files.read(object, request.signal, range)) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const problem = isTable ? tableProblem(bytes) : textProblem(bytes, format);
  if (problem !== null) throw new OtherFormat(null, problem);
}

function tableProblem(tail: Buffer): string | null {
  const magic = tail.toString('latin1');
  if (magic === 'PARE') return 'it is encrypted';
  return magic === 'PAR1' ? null : 'it is not a complete Parquet file: its end is missing';
}

function textProblem(head: Buffer, { name, isGzip }: FileFormat): string | null {
  const hasGzip = head[0] === 0x1f && head[1] === 0x8b;
  if (isGzip && !hasGzip) return `it is not ${name} compressed with gzip, or it is damaged`;
  if (hasGzip && !isGzip) return 'it is compressed with gzip, and its name should end in .gz';
  if (head.length === 4 && head.readUInt32LE(0) === 0xfd2fb528)
    return 'it is compressed with zstd, which only imports read; queries of files read gzip';
  return null;
}
