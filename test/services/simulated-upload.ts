import type { MemoryLease } from '../../gateway/memory/memory-lease.ts';
import { slabBytes } from '../../gateway/memory/slab-pool.ts';
import { largestRead, type UploadMemory } from '../../gateway/memory/upload-memory.ts';

export interface UploadShape {
  readonly size: number;
  readonly partBytes: number;
  readonly readBytes: number;
  /** Parts that may be under way at once. */
  readonly parallel: number;
  /** The client says how long its body is. */
  readonly lengthKnown: boolean;
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
    this.lease = memory.open({
      resume: onResume,
      cut: (reason) => {
        this.cut = reason;
      },
    });
    this.#want();
  }

  get reading(): boolean {
    return this.lease.reading && this.received < this.shape.size;
  }

  /** Bytes of slabs in the part that is being gathered. */
  get gathered(): number {
    return this.#current.length * slabBytes;
  }

  /** One read of the socket. */
  read(bytes = this.shape.readBytes): void {
    const { size, partBytes } = this.shape;
    const read = Math.min(bytes, largestRead, size - this.received);
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
    this.lease.give(this.inFlight.shift() as Buffer[]);
    if (this.received < this.shape.size) {
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

  #ship(): void {
    if (this.#current.length === 0) return;
    this.inFlight.push(this.#current);
    this.#current = [];
    this.#filled = 0;
    this.lease.shipped();
  }
}
