import { randomBytes } from 'node:crypto';
import { keyedWordHash } from './keyed-word-hash.ts';
import { idSpan, type Span, sameBytes, valueSpan } from './packed-row.ts';

/** What packed records are found by: hashes of their ids and of values of some slots, each with the number of its space. */
export class PackedKeys {
  readonly #key = new Uint32Array(new Uint8Array(randomBytes(8)).buffer);
  readonly #slots = new Map<string, Uint8Array>();
  readonly #span: Span = { start: 0, end: 0 };
  /** The text that was hashed last, which records are compared with. */
  #text = Buffer.allocUnsafe(1024);
  #length = 0;

  /** @param slot empty: the text is an id */
  hashOfText(space: number, slot: string, text: string): number {
    const most = 3 * text.length;
    if (most > this.#text.byteLength) this.#text = Buffer.allocUnsafe(most);
    this.#length = this.#text.write(text);
    return keyedWordHash(this.#key, space, wordOf(this.#nameOf(slot)), this.#text, 0, this.#length);
  }

  /** Whether the record's id is the text. */
  hasId(bytes: Buffer, row: number): boolean {
    idSpan(bytes, row, this.#span);
    return this.#isText(bytes);
  }

  /** Whether the record's value of the slot is the text. */
  hasValue(bytes: Buffer, row: number, slot: string): boolean {
    return valueSpan(bytes, row, this.#nameOf(slot), this.#span) && this.#isText(bytes);
  }

  /** Of a record: first that of its id. */
  hashesOf(space: number, bytes: Buffer, row: number, slots: readonly string[]): number[] {
    idSpan(bytes, row, this.#span);
    const hashes = [this.#hashOfSpan(space, '', bytes)];
    for (const slot of slots) {
      if (valueSpan(bytes, row, this.#nameOf(slot), this.#span))
        hashes.push(this.#hashOfSpan(space, slot, bytes));
    }
    return hashes;
  }

  #hashOfSpan(space: number, slot: string, bytes: Buffer): number {
    const { start, end } = this.#span;
    return keyedWordHash(this.#key, space, wordOf(this.#nameOf(slot)), bytes, start, end);
  }

  #isText(bytes: Buffer): boolean {
    const { start, end } = this.#span;
    return end - start === this.#length && sameBytes(bytes, start, this.#text, this.#length);
  }

  #nameOf(slot: string): Uint8Array {
    let name = this.#slots.get(slot);
    if (name === undefined) {
      name = Buffer.from(slot);
      this.#slots.set(slot, name);
    }
    return name;
  }
}

/** What tells slots from each other, and from ids. */
function wordOf(slot: Uint8Array): number {
  let word = 0;
  for (let i = 0; i < slot.byteLength; i++) word = (word * 31 + (slot[i] as number)) | 0;
  return word;
}
