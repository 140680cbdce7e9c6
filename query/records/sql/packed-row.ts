import type { StoredRow } from './stored-row.ts';

/**
 * A record as the engine writes `rowColumns` in RowBinary, so that streamed rows are kept as they arrive
 * (https://clickhouse.com/docs/interfaces/formats/RowBinary). A text is its length as LEB128 and its bytes, a time 64 bits
 * of milliseconds, and a map the number of its pairs, followed by the pairs.
 */

export interface Span {
  start: number;
  end: number;
}

const timeBytes = 8;
const word = 2 ** 32;

class Cursor {
  #bytes: Buffer = Buffer.alloc(0);
  /** Its position; NaN: past the end of the bytes. */
  at = 0;

  begin(bytes: Buffer, at: number): void {
    this.#bytes = bytes;
    this.at = at;
  }

  length(): number {
    let result = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) {
        this.at = Number.NaN;
        return 0;
      }
      result += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return result;
    }
  }

  skip(length: number): void {
    this.at += length;
    if (this.at > this.#bytes.byteLength) this.at = Number.NaN;
  }

  skipText(): void {
    this.skip(this.length());
  }

  text(): string {
    const start = this.at;
    const length = this.length();
    const from = this.at;
    this.at += length;
    // slots, which repeat in every row
    if (length === 2) {
      return slotText(this.#bytes[start + 1] as number, this.#bytes[start + 2] as number);
    }
    return this.#bytes.toString('utf8', from, this.at);
  }

  time(): string {
    const time = timeAt(this.#bytes, this.at);
    this.at += timeBytes;
    return new Date(time).toISOString();
  }
}

/** Milliseconds since 1970. */
function timeAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + word * bytes.readInt32LE(at + 4);
}

const cursor = new Cursor();
const slotTexts = new Map<number, string>();

function slotText(first: number, second: number): string {
  const key = first * 256 + second;
  let text = slotTexts.get(key);
  if (text === undefined) {
    text = Buffer.from([first, second]).toString();
    slotTexts.set(key, text);
  }
  return text;
}

/** Where the row that begins at a position ends; NaN: the bytes end before it. */
export function endOfRow(bytes: Buffer, at: number): number {
  cursor.begin(bytes, at);
  cursor.skipText();
  cursor.skip(2 * timeBytes);
  for (let pairs = cursor.length(); pairs > 0 && !Number.isNaN(cursor.at); pairs--) {
    cursor.skipText();
    cursor.skipText();
  }
  return cursor.at;
}

/** Rows of a stream. Its pieces may end in the middle of a row. */
export class PackedRows {
  bytes: Buffer = Buffer.alloc(0);
  /** Position of the current row. */
  start = 0;
  end = 0;

  add(piece: Uint8Array): void {
    this.bytes = Buffer.concat([this.bytes.subarray(this.end), piece]);
    this.start = 0;
    this.end = 0;
  }

  /** Moves to the next row; false: it has not arrived completely. */
  next(): boolean {
    const end = endOfRow(this.bytes, this.end);
    if (Number.isNaN(end)) return false;
    this.start = this.end;
    this.end = end;
    return true;
  }

  /** Bytes of a row received in part. */
  get rest(): number {
    return this.bytes.byteLength - this.end;
  }
}

export function idSpan(bytes: Buffer, at: number, span: Span): void {
  cursor.begin(bytes, at);
  const length = cursor.length();
  span.start = cursor.at;
  span.end = cursor.at + length;
}

/** Milliseconds since 1970. */
export function createdAt(bytes: Buffer, at: number): number {
  cursor.begin(bytes, at);
  cursor.skipText();
  return timeAt(bytes, cursor.at);
}

export function updatedAt(bytes: Buffer, at: number): number {
  cursor.begin(bytes, at);
  cursor.skipText();
  return timeAt(bytes, cursor.at + timeBytes);
}

/** Whether the row has a value of the slot. If so, sets the span to it. */
export function valueSpan(bytes: Buffer, at: number, slot: Uint8Array, span: Span): boolean {
  cursor.begin(bytes, at);
  cursor.skipText();
  cursor.skip(2 * timeBytes);
  for (let pairs = cursor.length(); pairs > 0; pairs--) {
    const length = cursor.length();
    const same = length === slot.byteLength && sameBytes(bytes, cursor.at, slot, length);
    cursor.skip(length);
    const valueLength = cursor.length();
    if (same) {
      span.start = cursor.at;
      span.end = cursor.at + valueLength;
      return true;
    }
    cursor.skip(valueLength);
  }
  return false;
}

/**
 * Finds the values of several slots in one pass.
 * @param places of the slots, by their bytes as a number
 * @param spans receives the start and the end of each value, by place
 */
export function findValues(
  bytes: Buffer,
  at: number,
  places: ReadonlyMap<number, number>,
  spans: Int32Array,
): void {
  cursor.begin(bytes, at);
  cursor.skipText();
  cursor.skip(2 * timeBytes);
  for (let pairs = cursor.length(); pairs > 0; pairs--) {
    let slot = 0;
    for (let left = cursor.length(); left > 0; left--) slot = slot * 256 + (bytes[cursor.at++] as number);
    const length = cursor.length();
    const place = places.get(slot);
    if (place !== undefined) {
      spans[2 * place] = cursor.at;
      spans[2 * place + 1] = cursor.at + length;
    }
    cursor.skip(length);
  }
}

export function sameBytes(bytes: Uint8Array, at: number, wanted: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

export function readRow(bytes: Buffer, at: number): StoredRow {
  cursor.begin(bytes, at);
  const _id = cursor.text();
  const _created_at = cursor.time();
  const _updated_at = cursor.time();
  const _doc: Record<string, string> = {};
  for (let pairs = cursor.length(); pairs > 0; pairs--) {
    const slot = cursor.text();
    _doc[slot] = cursor.text();
  }
  return { _id, _created_at, _updated_at, _doc };
}

/** Writes rows into a buffer of its own, which the next one overwrites. */
export class RowWriter {
  #bytes = Buffer.allocUnsafe(4096);
  #at = 0;

  /** Null: the row would take more than `largest` bytes. */
  write({ _id, _created_at, _updated_at, _doc }: StoredRow, largest: number): Buffer | null {
    const slots = Object.keys(_doc);
    let most = 100 + 3 * _id.length;
    for (const slot of slots) most += 10 + slot.length + 3 * (_doc[slot] as string).length;
    if (most > 3 * largest) return null;
    if (this.#bytes.byteLength < most) this.#bytes = Buffer.allocUnsafe(most);
    this.#at = 0;
    this.#text(_id);
    this.#time(_created_at);
    this.#time(_updated_at);
    this.#length(slots.length);
    for (const slot of slots) {
      this.#text(slot);
      this.#text(_doc[slot] as string);
    }
    return this.#at > largest ? null : this.#bytes.subarray(0, this.#at);
  }

  /** Writes only an id, for readers that need nothing else of a row. */
  id(id: string, largest: number): Buffer | null {
    if (id.length > largest) return null;
    this.#at = 0;
    this.#text(id);
    return this.#at > largest ? null : this.#bytes.subarray(0, this.#at);
  }

  #length(length: number): void {
    let left = length;
    for (; left >= 0x80; left = Math.floor(left / 128)) this.#bytes[this.#at++] = (left % 128) | 0x80;
    this.#bytes[this.#at++] = left;
  }

  #text(text: string): void {
    // the length of most texts takes one byte
    const at = this.#at;
    const length = this.#bytes.write(text, at + 1);
    if (length < 0x80) {
      this.#bytes[at] = length;
      this.#at = at + 1 + length;
      return;
    }
    this.#length(length);
    this.#at += this.#bytes.write(text, this.#at);
  }

  #time(text: string): void {
    const milliseconds = Date.parse(text);
    this.#bytes.writeUInt32LE(((milliseconds % word) + word) % word, this.#at);
    this.#bytes.writeInt32LE(Math.floor(milliseconds / word), this.#at + 4);
    this.#at += timeBytes;
  }
}
