import { MessageChannel } from 'node:worker_threads';

/** Bytes of one slab. Uploads take single slabs, so that a slow one holds little more than the bytes that arrived. */
export const slabBytes = 64 * 1024;
/**
 * malloc returns freed blocks above 32 MiB to the system (mallopt(3), M_MMAP_THRESHOLD); smaller ones may stay in its
 * arenas. Only pages that were written to are resident.
 */
const slabsInABlock = 513;

interface Block {
  readonly memory: ArrayBuffer;
  readonly slabs: number;
  readonly free: Buffer[];
  /** All slabs were free at the last `trim`, and none has been taken since. */
  unused: boolean;
}

/**
 * A slab allocator over large blocks. It takes slabs from the first block with room, so that the others empty after a
 * burst; a block that stays empty from one `trim` to the next is returned to the system.
 */
export class SlabPool {
  readonly #blocks: Block[] = [];
  readonly #byMemory = new Map<ArrayBufferLike, Block>();

  /** Bytes of all blocks: an upper bound of the resident memory. */
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

  /** Releases the blocks that have stayed empty since the last `trim`. */
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
 * Frees the memory at once: the garbage collector of an idle process may take hours. A message takes its transferred
 * memory along, and a message to a closed port is dropped.
 */
function release(memory: ArrayBuffer): void {
  closedPort.postMessage(null, [memory]);
}
