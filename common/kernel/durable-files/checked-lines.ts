import { crc32 } from 'node:zlib';

/** Bytes before a line: its checksum, eight hexadecimal digits and a space. */
const markBytes = 9;
const checksumPattern = /^[0-9a-f]{8}$/;
const lineBreak = 10;
const space = 32;

/** A line that ends with its only line break. */
export interface CheckedLine {
  readonly line: Uint8Array;
  /** Its CRC-32; absent: it is computed in one step. */
  readonly checksum?: number | undefined;
}

/** From this many bytes on, a line is not copied. */
const largeLine = 256 * 1024;

/** Lines with checksums, which show damage, in few pieces. */
export function checkedLines(lines: readonly CheckedLine[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let small: CheckedLine[] = [];
  for (const each of lines) {
    small.push(each);
    if (each.line.byteLength < largeLine) continue;
    pieces.push(joined(small, true), each.line);
    small = [];
  }
  if (small.length > 0) pieces.push(joined(small, false));
  return pieces;
}

/** @param isCut whether only the checksum of the last line is wanted */
function joined(lines: readonly CheckedLine[], isCut: boolean): Buffer {
  let length = isCut ? -(lines.at(-1)?.line.byteLength ?? 0) : 0;
  for (const { line } of lines) length += markBytes + line.byteLength;
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { line, checksum } of lines) {
    bytes.write(markText(line, checksum), at, 'latin1');
    at += markBytes;
    if (at === length) break;
    bytes.set(line, at);
    at += line.byteLength;
  }
  return bytes;
}

function markOf(line: Uint8Array): Uint8Array {
  return Buffer.from(markText(line), 'latin1');
}

function markText(line: Uint8Array, checksum = crc32(line)): string {
  return `${checksum.toString(16).padStart(8, '0')} `;
}

export interface CheckedLines {
  /** Lines with a valid checksum, wherever they are: damage to one line affects no other. */
  readonly lines: readonly Uint8Array[];
  /** Lines with a wrong checksum. */
  readonly damaged: number;
  /** Bytes after the last line break. */
  readonly tail: number;
}

export function readCheckedLines(bytes: Buffer): CheckedLines {
  const lines: Uint8Array[] = [];
  let damaged = 0;
  let at = 0;
  for (let end = bytes.indexOf(lineBreak); end !== -1; end = bytes.indexOf(lineBreak, at)) {
    const marked = bytes.subarray(at, end + 1);
    at = end + 1;
    if (!isWhole(marked)) damaged++;
    const line = lineIn(marked);
    if (line !== null) lines.push(line);
  }
  return { lines, damaged, tail: bytes.byteLength - at };
}

/** The line, or the one that follows another whose line break is damaged. */
function lineIn(marked: Buffer): Uint8Array | null {
  if (isWhole(marked)) return marked.subarray(markBytes);
  for (let gap = marked.indexOf(space); gap !== -1; gap = marked.indexOf(space, gap + 1)) {
    const start = gap - markBytes + 1;
    // checking the text that follows is only worth the time if it can begin with a checksum
    if (start <= 0 || !checksumPattern.test(marked.toString('latin1', start, gap))) continue;
    if (isWhole(marked.subarray(start))) return marked.subarray(start + markBytes);
  }
  return null;
}

function isWhole(marked: Buffer): boolean {
  return marked.subarray(0, markBytes).equals(markOf(marked.subarray(markBytes)));
}
