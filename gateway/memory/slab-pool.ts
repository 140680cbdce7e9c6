import { MessageChannel } from 'node:worker_threads';

/** Bytes of one slab: what an upload takes at a time, so that a slow one holds little more than what has arrived. */
export const slabBytes = 64 * 1024;
/**
 * malloc gives what is larger than 32 MiB back to the system when it is freed, always (mallopt(3), M_MMAP_THRESHOLD);
 * what is smaller may stay in its arenas. Only what is written to is resident.
 */
const slabsInABlock = 513;

interface Block {
  readonly memory: ArrayBuffer;
  readonly slabs: number;
  readonly free: Buffer[];
  /** No slab of it has been taken since all were free at the last `trim`. */
  unused: boolean;
}

/**
 * Slabs, cut from large blocks. The first block that has room is used first, so that the others empty once a burst is
 * over; a block that stays empty from one `trim` to the next goes back to the system.
 */
export class SlabPool {
  readonly #blocks: Block[] = [];
  readonly #byMemory = new Map<ArrayBufferLike, Block>();

  /** Bytes of all blocks: an upper bound of what is resident. */
  get bytes(): number {
    return this.#blocks.reduce((sum, { slabs }) => sum + slabs * slabBytes, 0);
  }

  take(): Buffer {
    const block = this.#blocks.find(({ free }) => free.length > 0) ?? this.#addBlock();
    block.unused = false;
    return block.free.pop() as Buffer;
  }

  give(slab: Buffer): void {
    (this.#byMemory.get(slab.buffer) as Block).free.push(slab);
  }

  /** Gives back the blocks that were empty the last time already. */
  trim(): void {
    for (const block of [...this.#blocks]) {
      const unused = block.free.length === block.slabs;
      if (unused && block.unused) {
        this.#blocks.splice(this.#blocks.indexOf(block), 1);
        this.#byMemory.delete(block.memory);
        release(block.memory);
      }
      block.unused = unused;
    }
  }

  #addBlock(): Block {
    const whole = Buffer.allocUnsafeSlow(slabsInABlock * slabBytes);
    const free = Array.from({ length: slabsInABlock }, (_, index) =>
      whole.subarray(index * slabBytes, (index + 1) * slabBytes),
    );
    const block = { memory: whole.buffer, slabs: slabsInABlock, free, unused: false };
    this.#blocks.push(block);
    this.#byMemory.set(block.memory, block);
    return block;
  }
}

const { port1: closedPort, port2 } = new MessageChannel();
port2.close();

/**
 * Frees the memory at once. A garbage collector that has little to do would come for it in hours. A message takes the
 * memory that is transferred with it away from here, and one that nobody can receive is dropped.
 */
function release(memory: ArrayBuffer): void {
  closedPort.postMessage(null, [memory]);
}
