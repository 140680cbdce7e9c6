import { crc32 } from 'node:zlib';
import type { ObjectWriter, Part } from '../../common/object-store/object-store.ts';
import { combineCrc32 } from '../../common/object-store/s3/crc32-combine.ts';
import type { MemoryLease } from '../memory/upload-memory.ts';

/** What an object needs of its store while it is gathered. */
export interface PartRules {
  readonly concurrentParts: number;
  partBytes(index: number, maxBytes: number): number;
}

/** An object whose bytes have all arrived. The last part has yet to be stored, by `complete`. */
export interface Assembled {
  readonly writer: ObjectWriter;
  readonly last: Part;
  /** Bytes. */
  readonly size: number;
  readonly crc32: number;
}

interface Slabs extends Part {
  readonly slabs: readonly Buffer[];
}

/**
 * Copies the bytes of one object, once, into slabs, and hands full parts to the store while the next one fills.
 * A full part is held until more bytes come, because the last one is stored together with completing the object.
 */
export class PartAssembler {
  readonly #args: PartAssemblerArgs;
  #slabs: Buffer[] = [];
  #slabFilled = 0;
  #filled = 0;
  #checksum = 0;
  #size = 0;
  #sizeChecksum = 0;
  #index = 0;
  #partBytes: number;
  #writer: Promise<ObjectWriter> | null = null;
  /** Full parts that wait for one of those under way. */
  readonly #ready: Slabs[] = [];
  readonly #underWay = new Set<Promise<void>>();
  /** What `finish` took, until whoever asked has it. */
  #last: Slabs | null = null;
  #stopped = false;

  constructor(args: PartAssemblerArgs) {
    this.#args = args;
    this.#partBytes = args.rules.partBytes(0, args.maxBytes);
  }

  /** Whether the store must catch up before more is read. */
  get blocked(): boolean {
    return this.#ready.length > 0;
  }

  /** Begins the object. */
  start(writer: Promise<ObjectWriter>): void {
    this.#writer = writer;
    writer.catch((error: unknown) => this.#args.onError(error));
  }

  /** Copies the bytes; their memory may be reused when the call returns. */
  write(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.byteLength > 0) {
      if (this.#filled === this.#partBytes) this.#ship();
      let slab = this.#slabs.at(-1);
      if (slab === undefined || this.#slabFilled === slab.byteLength) {
        slab = this.#args.memory.take();
        this.#slabs.push(slab);
        this.#slabFilled = 0;
      }
      const room = Math.min(slab.byteLength - this.#slabFilled, this.#partBytes - this.#filled);
      const taken = rest.byteLength <= room ? rest : rest.subarray(0, room);
      slab.set(taken, this.#slabFilled);
      this.#checksum = crc32(taken, this.#checksum);
      this.#slabFilled += taken.byteLength;
      this.#filled += taken.byteLength;
      rest = rest.subarray(taken.byteLength);
    }
  }

  /**
   * No more bytes come. Resolves when every part but the last is with the store.
   * @param check is given the CRC32 of all bytes; what it throws fails the object
   */
  async finish(check: (crc32: number) => void): Promise<Assembled> {
    if (this.#writer === null) throw new Error('no object has begun');
    const last = this.#takePart();
    this.#last = last;
    check(this.#sizeChecksum);
    const writer = await this.#writer;
    while (this.#underWay.size > 0 || this.#ready.length > 0) await Promise.all(this.#underWay);
    if (this.#stopped) throw new Error('the object was given up');
    this.#last = null;
    return { writer, last, size: this.#size, crc32: this.#sizeChecksum };
  }

  /** Stores nothing more, and drops the object once the store has let go of the slabs. Never rejects. */
  async abort(): Promise<void> {
    this.#stopped = true;
    const writer = await this.#writer?.catch(() => null);
    await writer?.abort();
    await Promise.allSettled(this.#underWay);
    const held = [this.#takePart(), ...this.#ready.splice(0)];
    if (this.#last !== null) held.push(this.#last);
    this.#last = null;
    for (const part of held) this.release(part);
  }

  /** Gives the memory of a part back. */
  release(part: Part): void {
    this.#args.memory.give((part as Slabs).slabs);
  }

  #takePart(): Slabs {
    const { memory } = this.#args;
    const slabs = this.#slabs;
    const chunks = slabs.map((slab, index) =>
      index < slabs.length - 1 ? slab : slab.subarray(0, this.#slabFilled),
    );
    const part = { slabs, chunks, size: this.#filled, crc32: this.#checksum };
    this.#sizeChecksum = combineCrc32(this.#sizeChecksum, part.crc32, part.size);
    this.#size += part.size;
    this.#slabs = [];
    this.#slabFilled = 0;
    this.#filled = 0;
    this.#checksum = 0;
    memory.shipped();
    return part;
  }

  #ship(): void {
    const { rules, maxBytes } = this.#args;
    this.#ready.push(this.#takePart());
    this.#partBytes = rules.partBytes(++this.#index, maxBytes);
    this.#pump();
  }

  #pump(): void {
    const { rules, onRoom, onError } = this.#args;
    while (!this.#stopped && this.#ready.length > 0 && this.#underWay.size < rules.concurrentParts) {
      const part = this.#ready.shift() as Slabs;
      const stored: Promise<void> = this.#store(part).finally(() => {
        this.#underWay.delete(stored);
        this.release(part);
      });
      this.#underWay.add(stored);
      stored.then(() => {
        this.#pump();
        onRoom();
      }, onError);
    }
  }

  async #store(part: Part): Promise<void> {
    const writer = await (this.#writer as Promise<ObjectWriter>);
    if (!this.#stopped) await writer.writePart(part);
  }
}

export interface PartAssemblerArgs {
  readonly rules: PartRules;
  /** The object is known to be no longer than this many bytes; Infinity when nothing is known. */
  readonly maxBytes: number;
  readonly memory: Pick<MemoryLease, 'take' | 'give' | 'shipped'>;
  /** The store has taken a part: `blocked` may have changed. */
  readonly onRoom: () => void;
  readonly onError: (error: unknown) => void;
}
