import { valueAt } from '../input/filters/filter-test.ts';
import { createdAt, findValues, idSpan, type Span, updatedAt } from '../sql/packed-row.ts';
import type { RecordParts } from '../structure/record-parts.ts';
import { slotOf } from '../structure/slots.ts';
import { typeEntry } from '../types/field-types.ts';
import { fileSlot, linkBytes, markByte } from '../types/file.ts';
import { nameOf } from './row-order.ts';
import type { RowSlabs } from './row-slabs.ts';

/** A value that answers show, and the text before it. */
interface ShownValue {
  readonly before: Buffer;
  readonly kind: 'id' | 'createdAt' | 'updatedAt' | 'text' | 'json' | 'path' | 'files';
  readonly path: readonly string[];
  /** Position of its slot among the slots to find. */
  readonly place: number;
  /** Of files: what is written in place of `markByte`. */
  readonly links: Buffer;
}

interface View {
  readonly shown: readonly ShownValue[];
  readonly end: Buffer;
  /** Places of slots, by their bytes as a number. */
  readonly places: ReadonlyMap<number, number>;
  /** Where the value of each slot lies in the row that is written: start and end; an end of 0: it has none. */
  readonly spans: Int32Array;
  /** The most bytes of a record in addition to its values. */
  readonly fixed: number;
}

const views = new WeakMap<RecordParts, View>();
const nothing = Buffer.from('null');
const span: Span = { start: 0, end: 0 };
const [quote, backslash, firstPlain, comma] = [0x22, 0x5c, 0x20, 0x2c];
const [open, close, lineBreak] = [0x5b, 0x5d, 0x0a];
/** Texts up to this length are copied byte by byte, which is faster than a call. */
const shortText = 48;
/** An id, a time or `null`. */
const longestFixed = 50;

function viewOf(parts: RecordParts): View {
  let view = views.get(parts);
  if (view === undefined) {
    const places = new Map<number, number>();
    const shown = parts.parts.map(({ before, target, path }): ShownValue => {
      const bytes = Buffer.from(before);
      if (typeof target === 'string') return { before: bytes, kind: target, path, place: -1, links: nothing };
      const { isQuoted, files } = typeEntry(target.type);
      const slot = slotNumber(nameOf(files === undefined ? slotOf(target) : fileSlot(slotOf(target))));
      const place = places.get(slot) ?? places.size;
      places.set(slot, place);
      const plain = isQuoted ? 'text' : path.length > 0 ? 'path' : 'json';
      const kind = files === undefined ? plain : 'files';
      return { before: bytes, kind, path, place, links: linkBytes(target.links) };
    });
    const end = Buffer.from(parts.end);
    const fixed = shown.reduce((sum, { before }) => sum + before.byteLength + longestFixed, end.byteLength);
    view = { shown, end, places, spans: new Int32Array(2 * places.size), fixed };
    views.set(parts, view);
  }
  return view;
}

function slotNumber(slot: Uint8Array): number {
  let number = 0;
  for (const byte of slot) number = number * 256 + byte;
  return number;
}

/** Writes packed rows as the JSON of records. */
export class RowJson {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #at = 0;

  /** A JSON array of rows; null: more than `most` bytes. */
  list(parts: RecordParts, numbers: readonly number[], rows: RowSlabs, most: number): Buffer | null {
    this.#at = 0;
    this.#byte(open);
    for (let place = 0; place < numbers.length; place++) {
      if (place > 0) {
        this.#byte(lineBreak);
        this.#byte(comma);
      }
      const number = numbers[place] as number;
      this.#record(parts, rows.bufferOf(number), rows.offsetOf(number));
      if (this.#at > most) return null;
    }
    this.#byte(close);
    return this.#end();
  }

  record(parts: RecordParts, bytes: Buffer, row: number): Buffer {
    this.#at = 0;
    this.#record(parts, bytes, row);
    return this.#end();
  }

  /** A copy of the written bytes, not a piece of a larger buffer, which cached results would keep in memory. */
  #end(): Buffer {
    const copy = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(copy, 0, 0, this.#at);
    return copy;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = byte;
  }

  #record(parts: RecordParts, bytes: Buffer, row: number): void {
    const { shown, end, places, spans, fixed } = viewOf(parts);
    spans.fill(0);
    findValues(bytes, row, places, spans);
    let length = 0;
    for (let at = 0; at < spans.length; at += 2) length += (spans[at + 1] as number) - (spans[at] as number);
    // a character becomes six at most, as in `\u0000`
    this.#reserve(fixed + 6 * length);
    for (const { before, kind, path, place, links } of shown) {
      this.#append(before);
      switch (kind) {
        case 'id':
          idSpan(bytes, row, span);
          this.#text(bytes, span.start, span.end);
          break;
        case 'createdAt':
          this.#time(createdAt(bytes, row));
          break;
        case 'updatedAt':
          this.#time(updatedAt(bytes, row));
          break;
        default: {
          const [from, to] = [spans[2 * place] as number, spans[2 * place + 1] as number];
          if (to === 0) this.#append(nothing);
          else if (kind === 'text') this.#text(bytes, from, to);
          else if (kind === 'json') this.#copy(bytes, from, to);
          else if (kind === 'files') this.#files(bytes, from, to, { links, rest: fixed + 6 * length });
          else this.#append(Buffer.from(valueAt(bytes.toString('utf8', from, to), path) ?? 'null'));
        }
      }
    }
    this.#append(end);
  }

  #reserve(length: number): void {
    const needed = this.#at + length + 200;
    if (needed <= this.#bytes.byteLength) return;
    const before = this.#bytes;
    this.#bytes = Buffer.allocUnsafe(Math.max(needed, 2 * before.byteLength));
    before.copy(this.#bytes, 0, 0, this.#at);
  }

  #append(text: Buffer): void {
    this.#copy(text, 0, text.byteLength);
  }

  #copy(from: Buffer, start: number, end: number): void {
    const [to, at] = [this.#bytes, this.#at];
    if (end - start > shortText) from.copy(to, at, start, end);
    else for (let i = start; i < end; i++) to[at + i - start] = from[i] as number;
    this.#at = at + end - start;
  }

  /** The text of files with their addresses. @param rest the most bytes of the rest of the record */
  #files(
    from: Buffer,
    start: number,
    end: number,
    { links, rest }: { readonly links: Buffer; readonly rest: number },
  ): void {
    for (let at = start; at < end; ) {
      const next = from.indexOf(markByte, at);
      const stop = next < 0 || next >= end ? end : next;
      this.#copy(from, at, stop);
      if (stop < end) {
        this.#reserve(links.byteLength + rest);
        this.#append(links);
      }
      at = stop + 1;
    }
  }

  #text(from: Buffer, start: number, end: number): void {
    const to = this.#bytes;
    let at = this.#at;
    to[at++] = quote;
    for (let i = start; i < end; i++) {
      const byte = from[i] as number;
      if (byte < firstPlain || byte === quote || byte === backslash) {
        this.#at += to.write(JSON.stringify(from.toString('utf8', start, end)), this.#at);
        return;
      }
      to[at++] = byte;
    }
    to[at++] = quote;
    this.#at = at;
  }

  #time(milliseconds: number): void {
    this.#at += this.#bytes.write(timeText(milliseconds), this.#at, 'latin1');
  }
}

const second = 1000;
let knownSecond = { at: Number.NaN, text: '' };

/** ISO 8601, in quotes. The times of one answer are often in the same second. */
function timeText(milliseconds: number): string {
  const at = Math.floor(milliseconds / second);
  if (knownSecond.at !== at)
    knownSecond = { at, text: `"${new Date(at * second).toISOString().slice(0, -4)}` };
  const rest = milliseconds - at * second;
  return `${knownSecond.text}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z"`;
}
