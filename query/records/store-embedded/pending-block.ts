import { crc32 } from 'node:zlib';
import type { CheckedLine } from '#kernel/durable-files/checked-lines.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import { idSpan, type Span } from '../sql/packed-row.ts';
import type { PackedBlock } from '../sql/row-block.ts';
import type { RecordWrite } from './known-records.ts';

/** Writes that are stored as a block: the new records of a space, and a row that is stored together with them. */
export interface PendingBlock extends PackedBlock {
  readonly receipt: RecordWrite | null;
}

/** Bytes encoded at once: a multiple of three, so that the pieces of base64 join. */
const pieceBytes = 192 * 1024;
const { signal: never } = new AbortController();

/** The block as a line of text, because rows may contain line breaks. Other requests run meanwhile. */
export async function blockLine({ rows, begins, ...block }: PendingBlock): Promise<Required<CheckedLine>> {
  const places = Buffer.from(begins.buffer, begins.byteOffset, begins.byteLength).toString('base64');
  const head = Buffer.from(`${JSON.stringify({ ...block, begins: places }).slice(0, -1)},"rows":"`);
  const line = Buffer.allocUnsafe(head.byteLength + 4 * Math.ceil(rows.byteLength / 3) + 3);
  let at = head.copy(line);
  let checksum = crc32(head);
  const write = (text: string): void => {
    const from = at;
    at += line.write(text, from, 'latin1');
    checksum = crc32(line.subarray(from, at), checksum);
  };
  const pieces = Array.from({ length: Math.ceil(rows.byteLength / pieceBytes) }, (_, index) => index);
  await forEachYielding(
    pieces,
    (index) => write(rows.toString('base64', index * pieceBytes, (index + 1) * pieceBytes)),
    never,
  );
  write('"}\n');
  return { line, checksum };
}

/** @param line as `blockLine` makes it, parsed */
export function blockOf(line: unknown): PendingBlock {
  const { rows, begins, ...block } = line as Omit<PendingBlock, 'rows' | 'begins'> & {
    readonly rows: string;
    readonly begins: string;
  };
  // a copy is aligned
  const places = new Uint8Array(Buffer.from(begins, 'base64'));
  return { ...block, rows: Buffer.from(rows, 'base64'), begins: new Uint32Array(places.buffer) };
}

/** The id of the first record. @param rows of a block */
export function firstIdIn(rows: Buffer): string {
  const span: Span = { start: 0, end: 0 };
  idSpan(rows, 0, span);
  return rows.toString('latin1', span.start, span.end);
}
