import { fieldPosition, referredPosition } from './flat-buffer.ts';

/** Where a message lies in an Arrow file. */
export interface ArrowBlock {
  readonly at: number;
  /** Size of the message and its body. */
  readonly bytes: number;
}

/** The footer of an Arrow file (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format). */
export interface ArrowFooter {
  /** As a complete message. */
  readonly schema: Uint8Array;
  readonly dictionaries: readonly ArrowBlock[];
  readonly batches: readonly ArrowBlock[];
}

/** Fields of `Footer` (https://github.com/apache/arrow/blob/main/format/File.fbs). */
const fields = { version: 0, schema: 1, dictionaries: 2, batches: 3 };
/** Size of a `Block`: an offset of 8 bytes, a length of 4, 4 unused bytes, and a length of 8. */
const blockBytes = 24;

/** Throws a RangeError if the footer is damaged. */
export function parseArrowFooter(footer: Buffer): ArrowFooter {
  const table = referredPosition(footer, 0);
  const schema = fieldPosition(footer, table, fields.schema);
  if (schema === 0) throw new RangeError('the footer has no schema');
  const version = fieldPosition(footer, table, fields.version);
  return {
    schema: schemaMessage(
      footer,
      referredPosition(footer, schema),
      version === 0 ? 0 : footer.readInt16LE(version),
    ),
    dictionaries: blocksAt(footer, fieldPosition(footer, table, fields.dictionaries)),
    batches: blocksAt(footer, fieldPosition(footer, table, fields.batches)),
  };
}

function blocksAt(footer: Buffer, position: number): readonly ArrowBlock[] {
  if (position === 0) return [];
  const vector = referredPosition(footer, position);
  const blocks: ArrowBlock[] = [];
  for (let at = vector + 4, left = footer.readUInt32LE(vector); left > 0; left--, at += blockBytes)
    blocks.push({
      at: Number(footer.readBigInt64LE(at)),
      bytes: footer.readInt32LE(at + 8) + Number(footer.readBigInt64LE(at + 16)),
    });
  return blocks;
}

/**
 * The schema of the footer as the message that begins a stream. The message at the front of the file is ignored: readers of
 * files use the footer, and polars 2 writes that message without its marker and length.
 */
function schemaMessage(footer: Buffer, schema: number, version: number): Uint8Array {
  const head = 32;
  const message = Buffer.alloc(8 + head + footer.byteLength);
  message.writeUInt32LE(0xffffffff, 0);
  message.writeUInt32LE(head + footer.byteLength, 4);
  const table = message.subarray(8);
  table.writeUInt32LE(16, 0);
  // the offsets of version, header type and header in a table of 12 bytes
  for (const [index, value] of [10, 12, 4, 6, 8].entries()) table.writeUInt16LE(value, 4 + 2 * index);
  table.writeInt32LE(12, 16);
  table.writeInt16LE(version, 20);
  table.writeUInt8(1, 22);
  table.writeUInt32LE(head + schema - 24, 24);
  footer.copy(table, head);
  return message;
}
