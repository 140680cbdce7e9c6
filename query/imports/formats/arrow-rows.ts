import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import {
  type Column,
  CompressionType,
  type CompressionType_,
  setCompressionCodec,
  Type,
  tableFromIPC,
} from '@uwdata/flechette';
import { FileProblem } from './file-problem.ts';
import { decompressLz4Frame } from './lz4-frame.ts';
import type { SourcePiece } from './source-record.ts';
import { rowsOf } from './table-cells.ts';
import { withTableFile } from './table-file.ts';
import { zstd } from './zstd.ts';

/** Bytes of a message: a batch of rows, which has to be in memory. */
const mostOfMessage = 256 * 1024 * 1024;
const damaged = 'it is no whole Arrow file';

/** https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format */
const magic = 'ARROW1';
const continuation = 0xffffffff;
const extraction = { useDate: true, useBigInt: true, useMap: true };
const messages = { schema: 1, dictionary: 2, batch: 3 };

/** Bytes of the batch that is read, when they are not compressed any more. */
let decompressed = 0;
const codecs = {
  [CompressionType.LZ4_FRAME]: decompressLz4Frame,
  [CompressionType.ZSTD]: zstd,
};
for (const [codec, decompress] of Object.entries(codecs))
  setCompressionCodec(Number(codec) as CompressionType_, {
    decode(bytes, length) {
      decompressed += length;
      if (!(decompressed <= mostOfMessage)) throw tooLarge('a batch of its rows has');
      return decompress(bytes, length);
    },
    encode: (bytes) => bytes,
  });

interface Texts {
  readonly values: Uint8Array;
  readonly offsets: Int32Array | BigInt64Array;
}

interface Message {
  readonly bytes: Uint8Array;
  readonly type: number;
}

/** The rows of an Arrow file, or of a stream of that format, batch by batch. @throws a FileProblem */
export function arrowPieces(path: string): AsyncGenerator<SourcePiece> {
  return withTableFile(path, damaged, piecesOf);
}

async function* piecesOf(handle: FileHandle, size: number): AsyncGenerator<SourcePiece> {
  const head = await read(handle, 0, 8);
  // a file is a stream with its magic and an index around it
  let at = head.toString('latin1', 0, magic.length) === magic ? 8 : 0;
  let schema: Uint8Array | null = null;
  let rows = 0;
  const dictionaries: Uint8Array[] = [];
  let held = 0;
  for (;;) {
    const message = at === size ? null : await messageAt(handle, at);
    if (message === null) break;
    const { bytes, type } = message;
    at += bytes.byteLength;
    if (type === messages.schema) schema ??= bytes;
    else if (type === messages.dictionary) {
      held += bytes.byteLength;
      if (held > mostOfMessage) throw tooLarge('its dictionaries have');
      dictionaries.push(bytes);
    } else if (type === messages.batch) {
      if (schema === null) throw new FileProblem(null, damaged);
      decompressed = 0;
      const table = tableFromIPC([schema, ...dictionaries, bytes], extraction);
      const columns = table.schema.fields.map(({ name }) => name);
      const values = columns.map((_, index) => valuesOf(table.getChildAt(index)));
      const cells = Array.from({ length: table.numRows }, (_, row) => values.map((column) => column[row]));
      yield { columns, records: rowsOf(cells, rows + 1), bytesRead: at, isLast: false };
      rows += table.numRows;
    }
  }
  if (schema === null) throw new FileProblem(null, damaged);
  const columns = tableFromIPC([schema]).schema.fields.map(({ name }) => name);
  yield { columns, records: [], bytesRead: size, isLast: true };
}

/** The package takes byte order marks off texts, and passes over bytes that are no UTF-8. */
function valuesOf(column: Column<unknown>): readonly unknown[] {
  const { typeId } = column.type;
  if (typeId !== Type.Utf8 && typeId !== Type.LargeUtf8) return Array.from(column);
  return column.data.flatMap((batch) => {
    const { values, offsets } = batch as unknown as Texts;
    const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    return Array.from({ length: batch.length }, (_, row) => {
      if (batch.nullCount > 0 && !batch.isValid(row)) return null;
      const text = bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]));
      if (!isUtf8(text)) throw new FileProblem(null, 'a text of it is not valid UTF-8');
      return text.toString();
    });
  });
}

/** Null: the stream ends here. */
async function messageAt(handle: FileHandle, at: number): Promise<Message | null> {
  const prefix = await read(handle, at, 8);
  if (prefix.readUInt32LE(0) !== continuation) throw new FileProblem(null, damaged);
  const metadataBytes = prefix.readUInt32LE(4);
  if (metadataBytes === 0) return null;
  if (metadataBytes > mostOfMessage) throw tooLarge('a message of it has');
  const { type, bodyBytes } = described(await read(handle, at + 8, metadataBytes));
  if (!(metadataBytes + bodyBytes <= mostOfMessage)) throw tooLarge('a batch of its rows has');
  const bytes = await read(handle, at, 8 + metadataBytes + bodyBytes);
  return { bytes, type };
}

/** The header of a message, from its FlatBuffer (https://github.com/apache/arrow/blob/main/format/Message.fbs). */
function described(metadata: Buffer): { readonly type: number; readonly bodyBytes: number } {
  const table = metadata.readInt32LE(0);
  const fields = table - metadata.readInt32LE(table);
  const length = metadata.readUInt16LE(fields);
  const placeOf = (field: number): number => {
    const slot = 4 + 2 * field;
    const offset = slot < length ? metadata.readUInt16LE(fields + slot) : 0;
    return offset === 0 ? 0 : table + offset;
  };
  const [type, body] = [placeOf(1), placeOf(3)];
  return {
    type: type === 0 ? 0 : metadata.readUInt8(type),
    bodyBytes: body === 0 ? 0 : Number(metadata.readBigInt64LE(body)),
  };
}

async function read(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  // memory of its own: columns are views on it, and have to be aligned
  const bytes = Buffer.from(new ArrayBuffer(length));
  const { bytesRead } = await handle.read(bytes, 0, length, at);
  if (bytesRead < length) throw new FileProblem(null, damaged);
  return bytes;
}

function tooLarge(what: string): FileProblem {
  return new FileProblem(null, `${what} more than ${mostOfMessage} bytes`);
}
