import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import {
  type Batch,
  type Column,
  CompressionType,
  type CompressionType_,
  setCompressionCodec,
  type Table,
  Type,
  tableFromIPC,
} from '@uwdata/flechette';
import { arrowReader, arrowType } from './arrow-cells.ts';
import { parseArrowFooter } from './arrow-footer.ts';
import { FileProblem } from './file-problem.ts';
import { fieldPosition } from './flat-buffer.ts';
import { decompressLz4Frame } from './lz4-frame.ts';
import type { SourcePiece } from './source-record.ts';
import { rowsOf, UndecodedText } from './table-cells.ts';
import { withTableFile } from './table-file.ts';
import { zstd } from './zstd.ts';

/** Bytes of a message, such as a batch of rows, which has to fit into memory. */
const mostOfMessage = 256 * 1024 * 1024;
const damaged = 'it is not a complete Arrow file';

/** https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format */
const magic = 'ARROW1';
const featherMagic = 'FEA1';
const continuation = 0xffffffff;
/** Values as they lie in the file, which are then converted with all their digits (arrow-cells.ts). */
const extraction = { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true, useMap: true };
/** Types of messages. */
const types = { schema: 1, dictionary: 2, batch: 3 };

/** Decompressed bytes of the current batch. */
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

interface Message {
  readonly bytes: Uint8Array;
  readonly type: number;
  /** The position of the next message. */
  readonly end: number;
}

/** Messages of a file: first the schema, then dictionaries and the batches that refer to them. */
type Messages = AsyncIterable<Message>;

/**
 * The rows of an Arrow file, or of a stream of that format, batch by batch.
 * @param isLeftOut whether a column is left out, by name: its cells are then undefined
 * @throws a FileProblem
 */
export function arrowPieces(
  path: string,
  isLeftOut: (column: string) => boolean = () => false,
): AsyncGenerator<SourcePiece> {
  return withTableFile(path, arrowProblem, async function* (handle, size) {
    const head = await read(handle, 0, Math.min(8, size));
    const start = head.toString('latin1', 0, magic.length);
    if (start.startsWith(featherMagic))
      throw new FileProblem(null, 'it is Feather version 1; write it as version 2, which is an Arrow file');
    const messages = start === magic ? messagesOfFile(handle, size) : messagesOfStream(handle, size);
    yield* piecesOf(messages, size, isLeftOut);
  });
}

async function* piecesOf(
  messages: Messages,
  size: number,
  isLeftOut: (column: string) => boolean,
): AsyncGenerator<SourcePiece> {
  let schema: Uint8Array | null = null;
  let rows = 0;
  const dictionaries: Uint8Array[] = [];
  let dictionaryBytes = 0;
  for await (const { bytes, type, end } of messages) {
    if (type === types.schema) schema ??= bytes;
    else if (type === types.dictionary) {
      dictionaryBytes += bytes.byteLength;
      if (dictionaryBytes > mostOfMessage) throw tooLarge('its dictionaries have');
      dictionaries.push(bytes);
    } else if (type === types.batch) {
      if (schema === null) throw new FileProblem(null, damaged);
      decompressed = 0;
      const table = tableFromIPC([schema, ...dictionaries, bytes], extraction);
      const { columns, types } = columnsOf(table);
      const values = columns.map((name, index) => (isLeftOut(name) ? [] : valuesOf(table.getChildAt(index))));
      const cells = Array.from({ length: table.numRows }, (_, row) => values.map((column) => column[row]));
      yield { columns, types, records: rowsOf(cells, rows + 1), bytesRead: end, isLast: false };
      rows += table.numRows;
    }
  }
  if (schema === null) throw new FileProblem(null, damaged);
  yield { ...columnsOf(tableFromIPC([schema])), records: [], bytesRead: size, isLast: true };
}

function columnsOf({ schema: { fields } }: Table) {
  return { columns: fields.map(({ name }) => name), types: fields.map(({ type }) => arrowType(type)) };
}

/** The messages in the index at the end of the file. */
async function* messagesOfFile(handle: FileHandle, size: number): AsyncGenerator<Message> {
  const tail = await read(handle, Math.max(0, size - 10), Math.min(10, size));
  const length = tail.byteLength < 10 ? 0 : tail.readInt32LE(0);
  if (tail.toString('latin1', 4) !== magic || !(length > 0 && length <= size - 20))
    throw new FileProblem(null, `${damaged}: its end is missing`);
  if (length > mostOfMessage) throw tooLarge('its index has');
  const { schema, dictionaries, batches } = parseArrowFooter(await read(handle, size - 10 - length, length));
  yield { bytes: schema, type: types.schema, end: 8 };
  for (const [type, blocks] of [
    [types.dictionary, dictionaries],
    [types.batch, batches],
  ] as const)
    for (const { at, bytes } of blocks) {
      if (!(at >= 8 && bytes > 0 && at + bytes <= size)) throw new FileProblem(null, damaged);
      if (bytes > mostOfMessage) throw tooLarge('a batch of its rows has');
      yield { bytes: await read(handle, at, bytes), type, end: at + bytes };
    }
}

async function* messagesOfStream(handle: FileHandle, size: number): AsyncGenerator<Message> {
  for (let at = 0; at < size; ) {
    const message = await messageAt(handle, at);
    if (message === null) return;
    yield message;
    at = message.end;
  }
}

/** A batch of texts, as the package represents it. */
interface TextBatch {
  readonly values: Uint8Array;
  /** Absent if the batch has views. */
  readonly offsets?: Int32Array | BigInt64Array;
  view(row: number): Uint8Array;
}

interface DictionaryBatch {
  readonly dictionary: Column<unknown>;
  key(row: number): number;
}

/** Binary values count as texts if they are UTF-8, as in Parquet, where texts may lack a type. */
const textTypes: readonly number[] = [
  Type.Utf8,
  Type.LargeUtf8,
  Type.Utf8View,
  Type.Binary,
  Type.LargeBinary,
  Type.BinaryView,
];

/** Decodes texts itself, because the package drops byte order marks, and ignores bytes that are not UTF-8. */
function valuesOf(column: Column<unknown>): readonly unknown[] {
  const { type } = column;
  if (textTypes.includes(type.typeId))
    return column.data.flatMap((batch) => textsOf(batch, batch as unknown as TextBatch));
  if (type.typeId !== Type.Dictionary || !textTypes.includes(type.dictionary.typeId)) {
    const read = arrowReader(type);
    return read === null ? Array.from(column) : Array.from(column, read);
  }
  return column.data.flatMap((batch) => {
    const { dictionary } = batch as unknown as DictionaryBatch;
    const texts = valuesOf(dictionary);
    return cellsOf(batch, (row) => texts[(batch as unknown as DictionaryBatch).key(row)]);
  });
}

function textsOf(batch: Batch<unknown>, texts: TextBatch): readonly unknown[] {
  const { values, offsets } = texts;
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return cellsOf(batch, (row) => {
    const text =
      offsets === undefined
        ? Buffer.from(texts.view(row))
        : bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]));
    return isUtf8(text) ? text.toString() : new UndecodedText(text);
  });
}

function cellsOf(batch: Batch<unknown>, cellOf: (row: number) => unknown): readonly unknown[] {
  return Array.from({ length: batch.length }, (_, row) =>
    batch.nullCount > 0 && !batch.isValid(row) ? null : cellOf(row),
  );
}

/** The message at a position; null: the stream ends here. */
async function messageAt(handle: FileHandle, at: number): Promise<Message | null> {
  const prefix = await read(handle, at, 8);
  const marker = prefix.readUInt32LE(0);
  if (marker !== continuation) {
    // before version 0.15 a message began with its length, followed by its FlatBuffer
    const isOld = at === 0 && marker > 0 && marker % 8 === 4 && prefix.readUInt32LE(4) <= marker;
    throw new FileProblem(
      null,
      isOld ? 'it is an Arrow stream from before version 0.15; write it with a newer version' : damaged,
    );
  }
  const metadataBytes = prefix.readUInt32LE(4);
  if (metadataBytes === 0) return null;
  if (metadataBytes > mostOfMessage) throw tooLarge('one of its messages has');
  const { type, bodyBytes } = parseMessage(await read(handle, at + 8, metadataBytes));
  if (!(metadataBytes + bodyBytes <= mostOfMessage)) throw tooLarge('a batch of its rows has');
  const length = 8 + metadataBytes + bodyBytes;
  return { bytes: await read(handle, at, length), type, end: at + length };
}

/** The header of a message, from its FlatBuffer (https://github.com/apache/arrow/blob/main/format/Message.fbs). */
function parseMessage(metadata: Buffer): { readonly type: number; readonly bodyBytes: number } {
  const table = metadata.readInt32LE(0);
  const type = fieldPosition(metadata, table, 1);
  const body = fieldPosition(metadata, table, 3);
  return {
    type: type === 0 ? 0 : metadata.readUInt8(type),
    bodyBytes: body === 0 ? 0 : Number(metadata.readBigInt64LE(body)),
  };
}

/** The problem of the file, from an error of the package. */
function arrowProblem({ message }: Error): string {
  const [, bits] = /^(\d+) must be one of 8,/.exec(message) ?? [];
  if (bits !== undefined) return `it has integers of ${bits} bits, which no field holds`;
  if (/must be (?:positive|non-negative)$/.test(message))
    return 'it has decimals with a negative scale, which no field holds';
  return damaged;
}

async function read(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  // a new buffer, because columns are views on it, and have to be aligned
  const bytes = Buffer.from(new ArrayBuffer(length));
  const { bytesRead } = await handle.read(bytes, 0, length, at);
  if (bytesRead < length) throw new FileProblem(null, damaged);
  return bytes;
}

function tooLarge(what: string): FileProblem {
  return new FileProblem(null, `${what} more than ${mostOfMessage} bytes`);
}
