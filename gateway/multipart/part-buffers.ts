import { overloaded } from '../../common/errors/catalogue.ts';
import type { ObjectWriter } from '../../common/object-store/object-store.ts';

/** One buffer fills while the store writes the other. */
const maxBuffers = 2;

/**
 * Gathers the bytes of one object into parts of the store's size and has them written in order. At most two buffers
 * exist; they are allocated when they are needed and used again.
 */
export class PartBuffers {
  readonly #args: PartBuffersArgs;
  readonly #free: Buffer[] = [];
  #allocated = 0;
  #current: Buffer | null = null;
  #filled = 0;
  /** What a parser held back and gave out when there was no room: less than a boundary line. */
  #spill: Buffer = Buffer.alloc(0);
  #writer: Promise<ObjectWriter> | null = null;
  #written: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(args: PartBuffersArgs) {
    this.#args = args;
  }

  /** How many bytes may be written now; 0 when the store must catch up first. Throws 503 when memory is short. */
  room(): number {
    this.#takeBuffer();
    return this.#current === null ? 0 : this.#current.byteLength - this.#filled;
  }

  /** Begins the object. `onRoom` and `onError` report what becomes of it. */
  start(writer: Promise<ObjectWriter>): void {
    this.#writer = writer;
    writer.catch((error: unknown) => this.#args.onError(error));
  }

  /** Copies the bytes. What exceeds `room` is kept as well, and should be little. */
  write(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.byteLength > 0) {
      const room = this.room();
      if (this.#current === null || room === 0) {
        this.#spill = Buffer.concat([this.#spill, rest]);
        return;
      }
      const taken = rest.subarray(0, room);
      this.#current.set(taken, this.#filled);
      this.#filled += taken.byteLength;
      rest = rest.subarray(taken.byteLength);
      if (this.#filled === this.#current.byteLength) this.#store(this.#current);
    }
  }

  /** Has the rest written. Resolves with the writer when the store has every byte. */
  async finish(): Promise<ObjectWriter> {
    if (this.#writer === null) throw new Error('no object has begun');
    while (this.#spill.byteLength > 0) {
      await this.#written;
      this.#takeBuffer();
    }
    if (this.#current !== null && this.#filled > 0) this.#store(this.#current);
    await this.#written;
    return this.#writer;
  }

  /** Writes nothing more, and drops the object once the store has let go of the buffers. Never rejects. */
  async abort(): Promise<void> {
    this.#stopped = true;
    await this.#written.catch(() => {});
    const writer = await this.#writer?.catch(() => null);
    await writer?.abort();
  }

  #takeBuffer(): void {
    if (this.#current !== null) return;
    this.#current = this.#free.pop() ?? this.#allocate();
    if (this.#current === null || this.#spill.byteLength === 0) return;
    const spill = this.#spill;
    this.#spill = Buffer.alloc(0);
    this.write(spill);
  }

  #allocate(): Buffer | null {
    const { partBytes, maxBytes, reserveMemory } = this.#args;
    const bytes = Math.min(partBytes, maxBytes - this.#allocated * partBytes);
    if (this.#allocated === maxBuffers || bytes <= 0) return null;
    if (!reserveMemory(bytes)) {
      // one buffer is enough to go on, more slowly
      if (this.#allocated > 0) return null;
      throw overloaded('uploads use all the memory they may have');
    }
    this.#allocated++;
    return Buffer.allocUnsafeSlow(bytes);
  }

  #store(buffer: Buffer): void {
    const part = buffer.subarray(0, this.#filled);
    this.#current = null;
    this.#filled = 0;
    this.#written = this.#written.then(async () => {
      if (this.#stopped) return;
      const writer = await (this.#writer as Promise<ObjectWriter>);
      await writer.writePart(part);
      this.#free.push(buffer);
    });
    this.#written.then(this.#args.onRoom, this.#args.onError);
  }
}

export interface PartBuffersArgs {
  /** Bytes of each part but the last. */
  readonly partBytes: number;
  /** The object is known to be no longer than this many bytes; Infinity when nothing is known. */
  readonly maxBytes: number;
  /** Answers false when the process has no memory for that many more bytes. */
  readonly reserveMemory: (bytes: number) => boolean;
  /** The store has caught up: there may be room again. */
  readonly onRoom: () => void;
  readonly onError: (error: unknown) => void;
}
