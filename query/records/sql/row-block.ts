import { slotColumns } from '#catalogue/migrations/record-tables.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { RecordValues } from '../input/validate-record.ts';
import type { Field } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { kindOf, type SlotKind, slotOf } from '../structure/slots.ts';
import { wholeText } from '../types/column-text.ts';
import type { FieldTypeEntry } from '../types/field-type.ts';
import { typeEntry } from '../types/field-types.ts';
import { fileSlot, fileText } from '../types/file.ts';
import type { KeyOfRecord, NewRecord } from './new-record.ts';
import { wordOf } from './record-keys.ts';

interface Column {
  readonly kind: SlotKind;
  /** Two characters or more. */
  readonly slot: string;
  /** Of a FILE; null: it is none. */
  readonly ofFile: { readonly slot: string; readonly entry: FieldTypeEntry } | null;
}

interface BlockRow {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly values: RecordValues;
  /** Keys of its values of unique fields, as pairs of words, the low word first. */
  readonly keys: readonly number[];
  /** The texts of its files by name. */
  readonly files: ReadonlyMap<string, string>;
}

/** Rows for the records table, all of one space. */
export interface PackedBlock {
  readonly spaceId: string;
  readonly columns: readonly string[];
  /** Types of the columns. */
  readonly types: readonly string[];
  /** RowBinary. Each row begins with a record in the form of `packed-row.ts`. */
  readonly rows: Buffer;
  /** Where each row begins. */
  readonly begins: Uint32Array;
}

/** Texts up to this length are written character by character, which costs less than a call. */
const shortText = 48;
const firstBytes = 8 * 1024 * 1024;
/** Of a record without its values, and of each value without its text. */
const [rowBytes, valueBytes] = [200, 60];
const word = 2 ** 32;
const timeType = `DateTime64(3, 'UTC')`;
const noFiles: NonNullable<NewRecord['files']> = new Map();
const noKeys: readonly number[] = [];
const map = 'Map(LowCardinality(String), String)';

/**
 * New records as RowBinary. It costs the engine less than JSON, and this thread half as much
 * (https://clickhouse.com/docs/interfaces/formats/RowBinary).
 */
export class RowBlock {
  readonly columns: readonly string[];
  /** Types of the columns. */
  readonly types: readonly string[];
  readonly #spaceId: string;
  readonly #columns: readonly Column[];
  readonly #space: Buffer;
  #bytes: Buffer;
  #at = 0;
  /** Where each record begins. */
  readonly #begins: number[] = [];

  /** @param memory its bytes: of an earlier block, to be reused, or how many to begin with */
  constructor(
    { id, structure }: Pick<RecordSpace, 'id' | 'structure'>,
    memory: Uint8Array | number = firstBytes,
  ) {
    this.#bytes = typeof memory === 'number' ? Buffer.allocUnsafeSlow(memory) : Buffer.from(memory.buffer);
    this.#spaceId = id;
    this.#columns = structure.fields.map((field: Field) => {
      const slot = slotOf(field);
      const entry = typeEntry(field.type);
      const ofFile = entry.files === undefined ? null : { slot: fileSlot(slot), entry };
      return { slot, kind: kindOf(slot), ofFile };
    });
    const slots = this.#columns.flatMap(({ slot, kind }) =>
      kind === 'h' || kind === 'm' ? [] : { slot, kind },
    );
    // those of `rowColumns` first
    const inRow = ['_id', '_created_at', '_updated_at', '_doc'];
    this.columns = [...inRow, 'space', ...slots.map(({ slot }) => slot), '_hashes', '_keys'];
    const values = slots.map(({ kind }) => `Nullable(${slotColumns[kind].type})`);
    this.types = ['String', timeType, timeType, map, 'UUID', ...values, map, 'Array(UInt64)'];
    // two 64-bit words, each with the low byte first
    const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
    this.#space = Buffer.concat([bytes.subarray(0, 8).reverse(), bytes.subarray(8).reverse()]);
  }

  get records(): number {
    return this.#begins.length;
  }

  get size(): number {
    return this.#at;
  }

  add({ id, createdAt, updatedAt, values, keys, files }: BlockRow): void {
    let most = rowBytes + id.length + 8 * keys.length;
    let inDoc = 0;
    let inHashes = 0;
    const columns = this.#columns;
    for (let place = 0; place < columns.length; place++) {
      const value = values[place] ?? null;
      if (value === null) continue;
      const { kind, ofFile } = columns[place] as Column;
      most += valueBytes + (typeof value === 'string' ? 6 * value.length : 0);
      if (kind === 'h') inHashes++;
      else inDoc++;
      if (ofFile === null) continue;
      inDoc++;
      most += valueBytes + 6 * fileText(ofFile.entry, value, files).length;
    }
    this.#reserve(most + columns.length);
    this.#begins.push(this.#at);
    this.#text(id);
    this.#time(createdAt);
    this.#time(updatedAt);
    this.#length(inDoc);
    if (inDoc > 0) this.#map(values, false, files);
    this.#at += this.#space.copy(this.#bytes, this.#at);
    for (let place = 0; place < columns.length; place++) {
      const { kind } = columns[place] as Column;
      if (kind === 'h' || kind === 'm') continue;
      this.#value(kind, values[place] ?? null);
    }
    this.#length(inHashes);
    if (inHashes > 0) this.#map(values, true, files);
    this.#length(keys.length / 2);
    for (const half of keys) this.#at = this.#bytes.writeUInt32LE(half, this.#at);
  }

  /** The rows except those at some places. The block must not be used afterwards. */
  take(leftOut: ReadonlySet<number>): Uint8Array {
    if (leftOut.size === 0) return this.#bytes.subarray(0, this.#at);
    let to = 0;
    for (const [place, from] of this.#begins.entries()) {
      if (leftOut.has(place)) continue;
      const end = this.#begins[place + 1] ?? this.#at;
      this.#bytes.copyWithin(to, from, end);
      to += end - from;
    }
    return this.#bytes.subarray(0, to);
  }

  packed(): PackedBlock {
    const { columns, types } = this;
    const rows = this.#bytes.subarray(0, this.#at);
    return { spaceId: this.#spaceId, columns, types, rows, begins: Uint32Array.from(this.#begins) };
  }

  #value(kind: SlotKind, value: RecordValues[number]): void {
    this.#bytes[this.#at++] = value === null ? 1 : 0;
    if (typeof value === 'string')
      if (kind === 'i') this.#at = this.#bytes.writeBigInt64LE(BigInt(wholeText(value)), this.#at);
      else this.#text(value);
    else if (typeof value === 'number') this.#at = this.#bytes.writeDoubleLE(value, this.#at);
    else if (typeof value === 'boolean') this.#bytes[this.#at++] = value ? 1 : 0;
  }

  #map(values: RecordValues, ofHashes: boolean, files: BlockRow['files']): void {
    const columns = this.#columns;
    for (let place = 0; place < columns.length; place++) {
      const { kind, slot, ofFile } = columns[place] as Column;
      const value = values[place] ?? null;
      if (value === null || (kind === 'h') !== ofHashes) continue;
      this.#text(slot);
      this.#text(typeof value === 'string' ? value : String(value));
      if (ofFile === null) continue;
      this.#text(ofFile.slot);
      this.#text(fileText(ofFile.entry, value, files));
    }
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.byteLength) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.byteLength, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }

  #length(length: number): void {
    let left = length;
    for (; left >= 0x80; left = Math.floor(left / 128)) this.#bytes[this.#at++] = (left % 128) | 0x80;
    this.#bytes[this.#at++] = left;
  }

  #text(text: string): void {
    const { length } = text;
    const bytes = this.#bytes;
    if (length <= shortText) {
      let at = this.#at;
      bytes[at++] = length;
      let index = 0;
      for (; index < length; index++) {
        const code = text.charCodeAt(index);
        if (code >= 0x80) break;
        bytes[at++] = code;
      }
      if (index === length) {
        this.#at = at;
        return;
      }
    }
    this.#length(Buffer.byteLength(text));
    this.#at += bytes.write(text, this.#at);
  }

  #time(milliseconds: number): void {
    this.#at = this.#bytes.writeUInt32LE(((milliseconds % word) + word) % word, this.#at);
    this.#at = this.#bytes.writeInt32LE(Math.floor(milliseconds / word), this.#at);
  }
}

/** The rows of new records of a space. */
export async function newBlock(
  space: RecordSpace,
  records: readonly NewRecord[],
  unique: readonly KeyOfRecord[],
  signal: AbortSignal,
): Promise<PackedBlock> {
  const keys: number[][] = [];
  for (const { hash, index } of unique) {
    const words = keys[index];
    if (words === undefined) keys[index] = [wordOf(hash, 0), wordOf(hash, 4)];
    else words.push(wordOf(hash, 0), wordOf(hash, 4));
  }
  const block = new RowBlock(space, records.length * 256);
  let time = { text: '', milliseconds: 0 };
  const add = ({ id, createdAt: text, values, files = noFiles }: NewRecord, index: number): void => {
    // all of a request have one
    if (text !== time.text) time = { text, milliseconds: Date.parse(text) };
    const { milliseconds: createdAt } = time;
    block.add({ id, createdAt, updatedAt: createdAt, values, keys: keys[index] ?? noKeys, files });
  };
  await forEachYielding(records, add, signal);
  return block.packed();
}
