import { crc32 } from 'node:zlib';
import { combineCrc32 } from '#objects/crc32-combine.ts';
import type { ObjectWriter, Part } from '#objects/object-store.ts';
import type { Digest } from '../digest/file-digests.ts';
import { FileHead } from '../inspect/file-head.ts';
import type { MemoryLease } from '../memory/memory-lease.ts';
import type { ScanOutcome } from '../scan/scan-outcome.ts';
import type { UploadScan } from '../scan/scanner.ts';

/** The store's rules for the parts of an object. */
export interface PartRules {
  readonly concurrentParts: number;
  /** A part may be shorter than `partBytes`. */
  readonly shortParts: boolean;
  /** @param small the smallest size that the store accepts, because memory is short */
  partBytes(index: number, maxBytes: number, small: boolean): number;
}

/**
 * An object whose bytes have all arrived. A single part is stored by `complete`; after several parts, `last` is empty,
 * because the store has them all.
 */
export interface AssembledObject {
  readonly writer: ObjectWriter;
  readonly last: Part;
  /** Bytes. */
  readonly size: number;
  readonly crc32: number;
  /** undefined: files have no digests. */
  readonly sha256: string | undefined;
  /** What the scanner says; undefined: files are not scanned. */
  readonly scanned: ScanOutcome | undefined;
  readonly head: FileHead;
}

interface SlabPart extends Part {
  readonly slabs: readonly Buffer[];
}

/**
 * Copies the bytes of one object into slabs, and sends full parts to the store while the next part fills. A full part
 * is held until more bytes come, because completing the object stores the last one.
 */
export class PartAssembler {
  /** Its first bytes, for whoever begins the object. */
  readonly head = new FileHead();
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
  /** Full parts that wait while others are being stored. */
  readonly #ready: SlabPart[] = [];
  readonly #underWay = new Set<Promise<void>>();
  /** The part that `finish` has taken but not yet returned. */
  #last: SlabPart | null = null;
  #stopped = false;

  constructor(args: PartAssemblerArgs) {
    this.#args = args;
    this.#partBytes = this.#nextPartBytes();
  }

  /**
   * Whether the store must catch up before more is read. With plenty of memory the next part is gathered meanwhile;
   * while others wait for memory, it would only sit there.
   */
  get blocked(): boolean {
    const { memory, rules } = this.#args;
    return this.#ready.length > 0 || (memory.contended && this.#underWay.size >= rules.concurrentParts);
  }

  /** Bytes until the current part is full; if it is full, the bytes of the next one. */
  get room(): number {
    return this.#filled === this.#partBytes ? this.#partBytes : this.#partBytes - this.#filled;
  }

  /** Begins the object. */
  start(writer: Promise<ObjectWriter>): void {
    this.#writer = writer;
    writer.catch((error: unknown) => this.#args.onError(error));
  }

  /** Copies the bytes: their memory may be reused when the call returns. */
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

  /** Sends an unfinished part to the store. False if the store takes only whole parts. */
  flush(): boolean {
    if (this.#args.rules.shortParts && this.#filled > 0) this.#ship();
    return this.#args.rules.shortParts;
  }

  /**
   * Ends the object. Resolves when the store has every part, or when there is only one.
   * @param check gets the CRC32 of all bytes; its error fails the object
   * @param goesOn more bytes of the file come by another request
   */
  async finish(check: (crc32: number) => void, goesOn = false): Promise<AssembledObject> {
    if (this.#writer === null) throw new Error('no object has begun');
    let last = this.#takePart();
    this.#last = last;
    check(this.#sizeChecksum);
    this.head.add(last, !goesOn);
    if (this.#index > 0) {
      // store it at once, so that its memory is not held until the object is complete
      this.#last = null;
      this.#ready.push(last);
      this.#pump();
      last = this.#takePart();
    }
    const writer = await this.#writer;
    while (this.#underWay.size > 0 || this.#ready.length > 0) await Promise.all(this.#underWay);
    const rest = this.#index > 0 ? null : last;
    const sha256 = await this.#args.digest.end(rest);
    const scanned = await this.#args.scan?.end(rest);
    if (this.#stopped) throw new Error('the object was given up');
    this.#last = null;
    const head = this.head;
    return { writer, last, size: this.#size, crc32: this.#sizeChecksum, sha256, scanned, head };
  }

  /**
   * Stores nothing more, releases parts that the store does not have, and aborts the object. Resolves once the store is
   * done with the other parts. Never rejects.
   */
  async abort(): Promise<void> {
    this.#stopped = true;
    this.head.drop(new Error('the object was given up'));
    this.#args.digest.drop();
    this.#args.scan?.drop();
    const held = [this.#takePart(), ...this.#ready.splice(0)];
    if (this.#last !== null) held.push(this.#last);
    this.#last = null;
    for (const part of held) this.release(part);
    const writer = await this.#writer?.catch(() => null);
    await writer?.abort();
    await Promise.allSettled(this.#underWay);
  }

  /** Releases the memory of a part. */
  release(part: Part): void {
    this.#args.memory.give((part as SlabPart).slabs);
  }

  #takePart(): SlabPart {
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
    const part = this.#takePart();
    this.head.add(part, false);
    this.#ready.push(part);
    this.#index++;
    this.#partBytes = this.#nextPartBytes();
    this.#pump();
  }

  #nextPartBytes(): number {
    const { rules, maxBytes, smallParts } = this.#args;
    return rules.partBytes(this.#index, maxBytes, smallParts);
  }

  #pump(): void {
    const { rules, onRoom, onError } = this.#args;
    while (!this.#stopped && this.#ready.length > 0 && this.#underWay.size < rules.concurrentParts) {
      const part = this.#ready.shift() as SlabPart;
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
    const hashed = this.#args.digest.update(part);
    const scanned = this.#args.scan?.update(part);
    const writer = await (this.#writer as Promise<ObjectWriter>);
    if (!this.#stopped) await Promise.all([writer.writePart(part), hashed, scanned]);
  }
}

export interface PartAssemblerArgs {
  readonly rules: PartRules;
  /** The object has at most this many bytes; Infinity if unknown. */
  readonly maxBytes: number;
  /** Memory is short. Decided once for each object, because some stores need parts of equal size. */
  readonly smallParts: boolean;
  readonly digest: Digest;
  /** undefined: files are not scanned. */
  readonly scan: UploadScan | undefined;
  readonly memory: Pick<MemoryLease, 'take' | 'give' | 'shipped' | 'contended'>;
  /** The store has finished a part: `blocked` may have changed. */
  readonly onRoom: () => void;
  readonly onError: (error: unknown) => void;
}
