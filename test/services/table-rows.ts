import { type Column, tableFromIPC } from '@uwdata/flechette';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

type Row = Readonly<Record<string, unknown>>;

export function asArrayBuffer({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

/** The rows of a Parquet file, with times as ISO 8601. */
export async function parquetRows(bytes: Buffer): Promise<Row[]> {
  const rows: Row[] = await parquetReadObjects({ file: asArrayBuffer(bytes), compressors });
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [key, withoutDates(value)])),
  );
}

/** The same of an Arrow file. */
export function arrowRows(bytes: Buffer): Row[] {
  const table = tableFromIPC(bytes, { useDate: true });
  return Array.from({ length: table.numRows }, (_, row) =>
    Object.fromEntries(
      table.names.map((name) => [name, withoutDates((table.getChild(name) as Column<unknown>).at(row))]),
    ),
  );
}

function withoutDates(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}
