import type { AsyncBuffer, ColumnMetaData, SchemaTree } from 'hyparquet';
import { parquetSchema } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from 'hyparquet/src/schema.js';
import { assertChunkSize, assertPages, BoundedPages, metadataOf, rangeOf } from './parquet-rows.ts';

/** A list, map or struct that is null. */
export interface NullGroup {
  /** The name of its column. */
  readonly column: string;
  /** From 0. */
  readonly row: number;
  /** Whether it lies inside of the value of the column. */
  readonly isInside: boolean;
}

/**
 * The first list, map or struct that is null in some columns of a Parquet file, by its definition levels; null: none. Values
 * are not decoded. @param columns their names @param rows how many rows are looked at
 */
export async function findNullGroup(
  file: AsyncBuffer,
  columns: ReadonlySet<string>,
  rows: number,
): Promise<NullGroup | null> {
  const metadata = await metadataOf(file);
  const root = parquetSchema(metadata);
  let start = 0;
  for (const { columns: chunks, num_rows: groupRows } of metadata.row_groups) {
    if (start >= rows) return null;
    let first: NullGroup | null = null;
    for (const { meta_data: data } of chunks) {
      const column = data?.path_in_schema[0];
      if (data === undefined || column === undefined || !columns.has(column)) continue;
      const path = getTreePath(root, data.path_in_schema);
      const levels = nullLevels(path);
      if (levels.size === 0 || hasNone(data, levels)) continue;
      const found = await firstNull(file, data, path, levels);
      if (found === null || start + found.row >= rows) continue;
      const row = start + found.row;
      if (first === null || row < first.row) first = { column, row, isInside: found.level > 0 };
    }
    if (first !== null) return first;
    start += Number(groupRows);
  }
  return null;
}

/** The definition levels at which a group on the way to a column is null, and not just empty. */
function nullLevels(path: readonly SchemaTree[]): ReadonlySet<number> {
  const levels = new Set<number>();
  let level = 0;
  for (const { element, children } of path.slice(1)) {
    if (element.repetition_type === 'REQUIRED') continue;
    if (element.repetition_type === 'OPTIONAL' && children.length > 0) levels.add(level);
    level++;
  }
  return levels;
}

/** Whether the statistics of a column say that no group is null. */
function hasNone(
  { size_statistics: sizes, statistics }: ColumnMetaData,
  levels: ReadonlySet<number>,
): boolean {
  const histogram = sizes?.definition_level_histogram;
  if (histogram !== undefined && histogram.length > 0)
    return [...levels].every((level) => Number(histogram[level]) === 0);
  return statistics?.null_count !== undefined && Number(statistics.null_count) === 0;
}

/** The first row of a row group in which a group is null, and its level. */
async function firstNull(
  file: AsyncBuffer,
  data: ColumnMetaData,
  path: SchemaTree[],
  levels: ReadonlySet<number>,
): Promise<{ readonly row: number; readonly level: number } | null> {
  assertChunkSize(Number(data.total_compressed_size));
  const chunk = await file.slice(...rangeOf(data));
  assertPages(chunk);
  const reader = { view: new DataView(chunk), offset: 0 };
  let row = -1;
  while (reader.offset < chunk.byteLength - 1) {
    const header = parquetHeader(reader);
    const bytes = new Uint8Array(chunk, reader.offset, header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    const { repetitions, definitions } = levelsOf(header, bytes, data, path);
    for (let at = 0; at < definitions.length; at++) {
      const level = definitions[at] as number;
      if (repetitions.length === 0 || repetitions[at] === 0) row++;
      if (levels.has(level)) return { row, level };
    }
  }
  return null;
}

interface Levels {
  readonly repetitions: readonly number[];
  readonly definitions: readonly number[];
}

/** The levels of a page; a page of a dictionary has none. */
function levelsOf(
  header: ReturnType<typeof parquetHeader>,
  bytes: Uint8Array,
  { codec }: ColumnMetaData,
  path: SchemaTree[],
): Levels {
  const { data_page_header: first, data_page_header_v2: second } = header;
  const count = first?.num_values ?? second?.num_values ?? 0;
  const repetitions = new Array<number>(getMaxRepetitionLevel(path) === 0 ? 0 : count).fill(0);
  const definitions = new Array<number>(count).fill(0);
  if (count === 0) return { repetitions, definitions };
  // the levels of the second version are never compressed
  const page =
    first === undefined
      ? bytes
      : decompressPage(bytes, header.uncompressed_page_size, codec, new BoundedPages().compressors);
  const reader = { view: new DataView(page.buffer, page.byteOffset, page.byteLength), offset: 0 };
  readLevels(reader, getMaxRepetitionLevel(path), repetitions, second?.repetition_levels_byte_length);
  readLevels(reader, getMaxDefinitionLevel(path), definitions, second?.definition_levels_byte_length);
  return { repetitions, definitions };
}

/** @param length bytes; undefined: they begin with their length */
function readLevels(
  reader: { readonly view: DataView; offset: number },
  most: number,
  levels: number[],
  length: number | undefined,
): void {
  if (levels.length > 0) readRleBitPackedHybrid(reader, 32 - Math.clz32(most), levels, length);
}
