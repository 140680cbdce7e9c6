import { threadClock } from '../run/thread-clock.ts';
import { hashOfText } from '../seed/hash.ts';
import type { FieldValue } from '../seed/records.ts';

/** Notes that are kept between two calls of `take`, of writes and of events each. */
const mostNotes = 2000;
const [seed, otherSeed] = [0x6b1d, 0x3c57];

/** What a thread noted. Each note is two numbers: what it is about, and when it was, in milliseconds since 1970. */
export interface NoteBatch {
  readonly writes: Float64Array<ArrayBuffer>;
  readonly events: Float64Array<ArrayBuffer>;
  /** So many events did each of these stand for. */
  readonly every: number;
}

/** When writes were acknowledged in a thread, and when events came: of many a sample. */
export class LiveNotes {
  /** Whether writes are noted: not in a warm-up. */
  areWritesNoted = false;
  readonly #writes = new Sample();
  readonly #events = new Sample();

  /** A write was acknowledged. @param value what tells it from other writes of the record; null: there is none */
  wrote(id: string, value: FieldValue | null): void {
    if (this.areWritesNoted) this.#writes.add(id, value);
  }

  /** An event of this record came. @param value as its write notes it */
  heard(id: string, value: unknown): void {
    this.#events.add(id, value);
  }

  /** @returns the notes since the last call; null: there are none */
  take(): NoteBatch | null {
    const { every } = this.#events;
    const [writes, events] = [this.#writes.take(), this.#events.take()];
    return writes.length + events.length === 0 ? null : { writes, events, every };
  }
}

/** Every first, second, fourth ... note: as few as it takes. */
class Sample {
  every = 1;
  readonly #notes = new Float64Array(2 * mostNotes);
  #length = 0;
  #seen = 0;

  add(id: string, value: unknown): void {
    if (this.#seen++ % this.every !== 0) return;
    if (this.#length === this.#notes.length) this.#thin();
    this.#notes[this.#length] = keyOf(id, value);
    this.#notes[this.#length + 1] = threadClock();
    this.#length += 2;
  }

  take(): Float64Array<ArrayBuffer> {
    const taken = this.#notes.slice(0, this.#length);
    // after a burst the sample grows again
    if (this.#length < this.#notes.length / 4) this.every = Math.max(1, this.every / 2);
    this.#length = 0;
    return taken;
  }

  #thin(): void {
    const notes = this.#notes;
    for (let from = 0; from < notes.length; from += 4) notes.copyWithin(from / 2, from, from + 2);
    this.#length = notes.length / 2;
    this.every *= 2;
  }
}

/** 53 bits: with 32, some of a million notes would meet others. */
function keyOf(id: string, value: unknown): number {
  const text = value === null ? id : `${id} ${value}`;
  return hashOfText(seed, text) * 2 ** 21 + (hashOfText(otherSeed, text) >>> 11);
}
