import type { MemoryLease } from '#gateway/memory/memory-lease.ts';
import { slabBytes } from '#gateway/memory/slab-pool.ts';
import { largestRead, type UploadMemory } from '#gateway/memory/upload-memory.ts';

export interface UploadShape {
  readonly size: number;
  readonly partBytes: number;
  readonly readBytes: number;
  /** Parts that may be under way at once. */
  readonly parallel: number;
  /** The client says how long its body is. */
  readonly lengthKnown: boolean;
  /** Whose it is: everybody's the same unless said. */
  readonly account?: string;
  /** Nothing comes after so many bytes. */
  readonly silentAfter?: number;
  /** The store takes parts of any size. */
  readonly shortParts?: boolean;
}

/** An upload as the memory sees it: reads when it may, fills parts, hands them to a store, gets slabs back. */
export class SimulatedUpload {
  readonly lease: MemoryLease;
  readonly shape: UploadShape;
  received = 0;
  cut: string | null = null;
  done = false;
  readonly inFlight: Buffer[][] = [];
  #current: Buffer[] = [];
  #filled = 0;

  /** @param onResume it may read again */
  constructor(memory: UploadMemory, shape: UploadShape, onResume: () => void = () => {}) {
    this.shape = shape;
    this.lease = memory.open(shape.account ?? '', {
      resume: onResume,
      flush: () => this.#flush(),
      cut: (reason) => this.#cut(reason),
    });
    this.#want();
  }

  get reading(): boolean {
    const { state, stopped } = this.lease;
    // whose room was taken back is not paused before its next read
    const open = state === 'reading' || (state === 'waiting' && stopped);
    return open && !this.silent && this.received < this.shape.size;
  }

  get silent(): boolean {
    const { silentAfter = Number.POSITIVE_INFINITY } = this.shape;
    return this.received >= silentAfter;
  }

  /** Bytes of slabs in the part that is being gathered. */
  get gathered(): number {
    return this.#current.length * slabBytes;
  }

  /** One read of the socket. */
  read(bytes = this.shape.readBytes): void {
    const { size, partBytes } = this.shape;
    const { silentAfter = size } = this.shape;
    const read = Math.min(bytes, largestRead, size - this.received, silentAfter - this.received);
    this.received += read;
    for (let rest = read; rest > 0; ) {
      if (this.#filled === partBytes) this.#ship();
      if (this.#filled % slabBytes === 0) this.#current.push(this.lease.take());
      const taken = Math.min(rest, slabBytes - (this.#filled % slabBytes), partBytes - this.#filled);
      this.#filled += taken;
      rest -= taken;
    }
    this.lease.arrived(read);
    if (this.received === size) {
      this.lease.idle();
      this.#ship();
    } else if (this.#blocked) this.lease.idle();
    else this.#want();
  }

  /** The store has taken the oldest part. */
  stored(): void {
    const stored = this.inFlight.shift() as Buffer[];
    this.lease.give(stored);
    if (this.cut !== null) {
      if (this.inFlight.length === 0) this.lease.close();
    } else if (this.received < this.shape.size) {
      if (!this.#blocked) this.#want();
    } else if (this.inFlight.length === 0) {
      this.done = true;
      this.lease.close();
    }
  }

  get #blocked(): boolean {
    return this.inFlight.length >= this.shape.parallel;
  }

  #want(): void {
    const { size, partBytes, lengthKnown } = this.shape;
    const room = this.#filled === partBytes ? partBytes : partBytes - this.#filled;
    const rest = lengthKnown ? size - this.received : Number.POSITIVE_INFINITY;
    this.lease.want(Math.min(room, rest), rest <= room);
  }

  /** The client goes away. */
  abort(): void {
    this.#cut('gone');
  }

  #flush(): boolean {
    const { shortParts = false } = this.shape;
    if (!shortParts) return false;
    this.#ship();
    this.#want();
    return true;
  }

  #cut(reason: string): void {
    this.cut = reason;
    this.lease.idle();
    const held = this.#current;
    this.#current = [];
    this.lease.shipped();
    this.lease.give(held);
    if (this.inFlight.length === 0) this.lease.close();
  }

  #ship(): void {
    if (this.#current.length === 0) return;
    this.inFlight.push(this.#current);
    this.#current = [];
    this.#filled = 0;
    this.lease.shipped();
  }
}
