import type { AsyncBuffer, ColumnMetaData, Compressors, FileMetaData } from 'hyparquet';
import { parquetMetadataAsync, parquetRead, parquetSchema } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { compressors as decompressors } from 'hyparquet-compressors';
import { shownName } from '#kernel/errors/shown-name.ts';
import { FileProblem } from './file-problem.ts';
import { type ParquetColumn, parquetColumns } from './parquet-cells.ts';
import type { SourcePiece } from './source-record.ts';
import { rowsOf, UndecodedText } from './table-cells.ts';
import { withTableFile } from './table-file.ts';
import { zstd } from './zstd.ts';

/** Bytes of values that are read at once, but at least so many rows: each read starts again at the beginning of the group. */
const valuesAtOnce = 16 * 1024 * 1024;
const rowsAtOnce = 64;
/** Bytes of the pages that are read at once, and of the compressed columns of a row group. */
const mostAtOnce = 256 * 1024 * 1024;
/** Values of a page, and bytes of the footer. */
const mostOfPage = 4_194_304;
const mostOfFooter = 16 * 1024 * 1024;
/** Bytes of the header of a page, which may have its least and greatest value. */
const mostOfHeader = 64 * 1024;
const damaged = 'it is not a complete Parquet file';

/** Decompressors with a limit for all pages together, because each page claims its own size. */
export class BoundedPages {
  #bytes = 0;
  readonly compressors: Compressors = Object.fromEntries(
    Object.entries({ ...decompressors, ZSTD: zstd }).map(([codec, decompress]) => [
      codec,
      (input: Uint8Array, length: number) => {
        this.#bytes += length;
        if (!(this.#bytes <= mostAtOnce)) throw tooLarge('its pages have');
        return decompress(input, length);
      },
    ]),
  );
}

function tooLarge(what: string): FileProblem {
  return new FileProblem(null, `${what} more than ${mostAtOnce} bytes`);
}

/** @param bytes of the columns of a row group that are read at once, compressed */
export function assertChunkSize(bytes: number): void {
  if (!(bytes <= mostAtOnce)) throw tooLarge('a group of its rows has');
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const parsers = {
  stringFromBytes(bytes: Uint8Array | undefined) {
    try {
      return bytes && utf8.decode(bytes);
    } catch {
      // its cell gets a problem
      return new UndecodedText(bytes as Uint8Array) as unknown as string;
    }
  },
  /** INT96: the package would make a Date. */
  timestampFromNanoseconds: (nanos: bigint) => nanos as unknown as Date,
  /** The field parses it, because the package would round its numbers. */
  jsonFromBytes(bytes: Uint8Array | undefined) {
    return parsers.stringFromBytes(bytes);
  },
};

/**
 * The rows of a Parquet file. @throws a FileProblem
 * @param isLeftOut whether a column is left out, by name: it is not read, and its cells are undefined
 */
export function parquetPieces(
  path: string,
  isLeftOut: (column: string) => boolean = () => false,
): AsyncGenerator<SourcePiece> {
  return withTableFile(path, parquetProblem, async function* (handle, size) {
    const file: AsyncBuffer = {
      byteLength: size,
      async slice(start, end = size) {
        assertRange(start, end, size);
        const bytes = new Uint8Array(end - start);
        await handle.read(bytes, 0, bytes.byteLength, start);
        return bytes.buffer;
      },
    };
    yield* groupPieces(file, await schemaOf(file), isLeftOut);
  });
}

export function assertRange(start: number, end: number, size: number): void {
  if (!(start >= 0 && start <= end && end <= size)) throw new FileProblem(null, damaged);
}

/** The problem of the file, from an error of the package. */
export function parquetProblem({ message }: Error): string {
  const [, what] = /^parquet unsupported (compression codec: \w+|encoding: \w+)/.exec(message) ?? [];
  return what === undefined ? damaged : `it has the ${what.replace(': ', ' ')}, which is not supported`;
}

/**
 * Throws a FileProblem if pages of a column have impossible sizes, which the reader of the package would trust.
 * @param chunk the bytes of the column in a row group
 */
export function assertPages(chunk: ArrayBuffer): void {
  const reader = { view: new DataView(chunk), offset: 0 };
  while (reader.offset < chunk.byteLength - 1) {
    const page = parquetHeader(reader);
    const header = page.data_page_header ?? page.data_page_header_v2 ?? page.dictionary_page_header;
    const sizes = [page.compressed_page_size, page.uncompressed_page_size, header?.num_values ?? 0];
    const isGood = sizes.every((size) => Number.isInteger(size) && size >= 0);
    if (!isGood || reader.offset + page.compressed_page_size > chunk.byteLength)
      throw new FileProblem(null, damaged);
    if ((header?.num_values ?? 0) > mostOfPage)
      throw new FileProblem(null, 'one of its pages has too many values');
    reader.offset += page.compressed_page_size;
  }
}

/** What a file says about itself, without the annotations that the package can't read. */
interface ParquetSchema {
  readonly metadata: FileMetaData;
  readonly columns: readonly ParquetColumn[];
}

async function schemaOf(file: AsyncBuffer): Promise<ParquetSchema> {
  const metadata = await metadataOf(file);
  return { metadata, columns: parquetColumns(parquetSchema(metadata)) };
}

/**
 * Some first rows, with the columns whose types the file does not say; the cells of others are undefined.
 * @param most how many, of the first group that has rows
 */
export async function* parquetSample(
  file: AsyncBuffer,
  isLeftOut: (column: string) => boolean,
  most: number,
): AsyncGenerator<SourcePiece> {
  const { metadata, columns } = await schemaOf(file);
  const typed = new Set(columns.flatMap(({ name, type }) => (type === null ? [] : [name])));
  const isUnread = (name: string): boolean => typed.has(name) || isLeftOut(name);
  yield* groupPieces(file, { metadata: await firstRows(file, metadata, isUnread, most), columns }, isUnread);
}

/** The same file, as if it ended behind some rows: with the pages of the read columns that have these rows. */
async function firstRows(
  file: AsyncBuffer,
  metadata: FileMetaData,
  isUnread: (column: string) => boolean,
  most: number,
): Promise<FileMetaData> {
  const group = metadata.row_groups.find(({ num_rows }) => num_rows > 0n);
  if (group === undefined) return { ...metadata, row_groups: [] };
  const rows = Math.min(most, Number(group.num_rows));
  const columns = group.columns.map(async (chunk) => {
    const { meta_data: data } = chunk;
    if (data === undefined || isUnread(data.path_in_schema[0] ?? '')) return chunk;
    const bytes = await bytesOfRows(file, data, rows);
    const share = bytes / Math.max(1, Number(data.total_compressed_size));
    const size = BigInt(Math.ceil(share * Number(data.total_uncompressed_size)) || 0);
    const first = { ...data, total_compressed_size: BigInt(bytes), total_uncompressed_size: size };
    return { ...chunk, meta_data: first };
  });
  const first = { ...group, num_rows: BigInt(rows), columns: await Promise.all(columns) };
  return { ...metadata, num_rows: BigInt(rows), row_groups: [first] };
}

/** Bytes of the first pages of a column without lists that have so many rows. */
async function bytesOfRows(file: AsyncBuffer, data: ColumnMetaData, rows: number): Promise<number> {
  const [start, end] = rangeOf(data);
  let at = start;
  for (let values = 0; values < rows && at < end; ) {
    const reader = { view: new DataView(await file.slice(at, Math.min(end, at + mostOfHeader))), offset: 0 };
    const { data_page_header, data_page_header_v2, compressed_page_size: size } = parquetHeader(reader);
    if (!(size >= 0)) throw new FileProblem(null, damaged);
    values += (data_page_header ?? data_page_header_v2)?.num_values ?? 0;
    at += reader.offset + size;
  }
  return Math.min(at, end) - start;
}

async function* groupPieces(
  file: AsyncBuffer,
  { metadata, columns: schema }: ParquetSchema,
  isLeftOut: (column: string) => boolean,
): AsyncGenerator<SourcePiece> {
  const columns = schema.map(({ name }) => name);
  const types = schema.map(({ type }) => type);
  const twice = columns.find((name, index) => columns.indexOf(name) < index);
  if (twice !== undefined)
    throw new FileProblem(null, `two of its columns have the name ${shownName(twice)}`);
  const wanted = columns.filter((name) => !isLeftOut(name));
  const all = Number(metadata.num_rows);
  let from = 0;
  for (const { num_rows: groupRows, columns: chunks } of metadata.row_groups) {
    if (groupRows === 0n) continue;
    const read = chunks.filter(({ meta_data: data }) => !isLeftOut(data?.path_in_schema[0] ?? ''));
    for (const { meta_data: data, crypto_metadata: crypto } of read)
      if (crypto !== undefined)
        throw new FileProblem(null, `its column ${shownName(data?.path_in_schema[0] ?? '')} is encrypted`);
    const sum = (of: (data: ColumnMetaData) => bigint): number =>
      read.reduce((all, { meta_data: data }) => all + Number(data && of(data)), 0);
    assertChunkSize(sum((data) => data.total_compressed_size));
    const share = valuesAtOnce / sum((data) => data.total_uncompressed_size);
    const atOnce = Math.max(rowsAtOnce, Math.floor(share * Number(groupRows)) || 0);
    for (const { meta_data: data } of read) assertPages(await file.slice(...rangeOf(data)));
    const end = from + Number(groupRows);
    while (from < end) {
      const rowEnd = Math.min(end, from + atOnce);
      const rows = await rowsBetween(file, metadata, wanted, from, rowEnd);
      const records = rowsOf(cellsOf(rows, schema, wanted), from + 1);
      from = rowEnd;
      const bytesRead = Math.floor((file.byteLength * from) / Math.max(1, all));
      yield { columns, types, records, bytesRead, isLast: false };
    }
  }
  yield { columns, types, records: [], bytesRead: file.byteLength, isLast: true };
}

/** Reads the values of the wanted columns. */
async function rowsBetween(
  file: AsyncBuffer,
  metadata: FileMetaData,
  wanted: string[],
  rowStart: number,
  rowEnd: number,
): Promise<readonly unknown[][]> {
  if (wanted.length === 0) return Array.from({ length: rowEnd - rowStart }, () => []);
  const { compressors } = new BoundedPages();
  let rows: readonly unknown[][] = [];
  const onComplete = (read: unknown[][]): void => {
    rows = read;
  };
  const range = { columns: wanted, rowStart, rowEnd };
  await parquetRead({ file, metadata, compressors, parsers, ...range, onComplete });
  return rows;
}

/** Converts rows, and gives them a cell for each column of the file. */
function cellsOf(
  rows: readonly unknown[][],
  columns: readonly ParquetColumn[],
  wanted: readonly string[],
): readonly unknown[][] {
  const places = wanted.map((wantedName) => columns.findIndex(({ name }) => name === wantedName));
  for (const [index, place] of places.entries()) {
    const read = columns[place]?.read ?? null;
    if (read !== null) for (const row of rows) row[index] = read(row[index]);
  }
  if (wanted.length === columns.length) return rows;
  return rows.map((row) => {
    const cells = new Array<unknown>(columns.length).fill(undefined);
    for (const [index, place] of places.entries()) cells[place] = row[index];
    return cells;
  });
}

/** The position of the pages of a column. */
export function rangeOf(data: ColumnMetaData | undefined): [start: number, end: number] {
  if (data === undefined) throw new FileProblem(null, damaged);
  const { dictionary_page_offset: dictionary, data_page_offset: pages } = data;
  // some writers write 0 if there is no dictionary
  const start = Number(dictionary && dictionary < pages ? dictionary : pages);
  return [start, start + Number(data.total_compressed_size)];
}

export async function metadataOf(file: AsyncBuffer): Promise<FileMetaData> {
  const { byteLength: size } = file;
  if (size < 12) throw new FileProblem(null, damaged);
  const end = Buffer.from(await file.slice(size - 8));
  const magic = end.toString('latin1', 4);
  if (magic === 'PARE') throw new FileProblem(null, 'it is encrypted');
  if (magic !== 'PAR1') throw new FileProblem(null, `${damaged}: its end is missing`);
  if (end.readUInt32LE(0) > mostOfFooter)
    throw new FileProblem(null, `its footer has more than ${mostOfFooter} bytes`);
  return parquetMetadataAsync(file);
}
