import { createdAt, findValues, idSpan, type Span, updatedAt } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import { nameOf } from './row-order.ts';

interface ShownField {
  /** `,"name":` */
  readonly prefix: Buffer;
  readonly isText: boolean;
}

/** The fields of a structure that answers show. */
interface View {
  readonly fields: readonly ShownField[];
  /** Places in `fields` by the slots' bytes as a number. */
  readonly places: ReadonlyMap<number, number>;
  /** Where the value of each field lies in the row that is written: start and end; an end of 0: it has none. */
  readonly spans: Int32Array;
}

const views = new WeakMap<Structure, View>();
const openId = Buffer.from('{"id":');
const openCreated = Buffer.from(',"createdAt":"');
const openUpdated = Buffer.from('","updatedAt":"');
const close = Buffer.from('"}');
const nothing = Buffer.from('null');
const span: Span = { start: 0, end: 0 };
const [quote, backslash, firstPlain, comma] = [0x22, 0x5c, 0x20, 0x2c];
/** Texts up to this length are copied byte by byte, which is faster than a call. */
const shortText = 48;

function viewOf(structure: Structure): View {
  let view = views.get(structure);
  if (view === undefined) {
    const shown = structure.fields.filter(({ hashed }) => !hashed);
    view = {
      fields: shown.map(({ name, type }) => ({
        prefix: Buffer.from(`,${JSON.stringify(name)}:`),
        isText: type === 'TEXT',
      })),
      places: new Map(shown.map((field, place) => [slotNumber(nameOf(slotOf(field))), place])),
      spans: new Int32Array(2 * shown.length),
    };
    views.set(structure, view);
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

  /** Begins anew. */
  begin(): void {
    this.#at = 0;
  }

  get length(): number {
    return this.#at;
  }

  /** A copy of what was written. */
  end(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = byte;
  }

  record(structure: Structure, bytes: Buffer, row: number, size: number): void {
    const { fields, places, spans } = viewOf(structure);
    spans.fill(0);
    findValues(bytes, row, places, spans);
    // a character becomes six at most, as in ``
    this.#reserve(6 * size + 200);
    this.#append(openId);
    idSpan(bytes, row, span);
    this.#text(bytes, span.start, span.end);
    for (let place = 0; place < fields.length; place++) {
      const { prefix, isText } = fields[place] as ShownField;
      this.#reserve(prefix.byteLength);
      this.#append(prefix);
      const [start, end] = [spans[2 * place] as number, spans[2 * place + 1] as number];
      if (end === 0) this.#append(nothing);
      else if (isText) this.#text(bytes, start, end);
      else this.#copy(bytes, start, end);
    }
    this.#append(openCreated);
    this.#time(createdAt(bytes, row));
    this.#append(openUpdated);
    this.#time(updatedAt(bytes, row));
    this.#append(close);
  }

  comma(): void {
    this.byte(comma);
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

/** ISO 8601. Times of one answer are often of one second. */
function timeText(milliseconds: number): string {
  const at = Math.floor(milliseconds / second);
  if (knownSecond.at !== at) knownSecond = { at, text: new Date(at * second).toISOString().slice(0, -4) };
  const rest = milliseconds - at * second;
  return `${knownSecond.text}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`;
}
