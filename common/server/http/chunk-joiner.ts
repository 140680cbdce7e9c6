/** Chunks below this size are joined; larger chunks are worth a separate call. */
const smallChunk = 4096;
const bufferBytes = 64 * 1024;

/** Receives joined chunks. The memory is only valid during the call. */
export interface JoinedChunks {
  deliver(chunk: Uint8Array): void;
}

/**
 * Joins small chunks of a body that arrive together: each byte may be a separate chunk (RFC 9112 section 7.1), and each
 * chunk would cost a call. One buffer serves the whole process: uWebSockets.js reads one socket at a time, and the bytes
 * are delivered before anything of another socket, or at the end of the turn of the event loop.
 */
export class ChunkJoiner {
  readonly #buffer = new Uint8Array(bufferBytes);
  #length = 0;
  #owner: JoinedChunks | null = null;
  #delivering = false;
  #scheduled = false;

  /** Delivers a chunk to its body: at once, or later joined with others. @param last nothing follows */
  add(owner: JoinedChunks, chunk: ArrayBuffer, last: boolean): void {
    const size = chunk.byteLength;
    if (this.#delivering) {
      owner.deliver(new Uint8Array(chunk));
      return;
    }
    if (this.#owner !== owner || this.#length + size > bufferBytes) this.flush();
    if (size >= smallChunk || (last && this.#length === 0)) {
      this.flush();
      if (size > 0) owner.deliver(new Uint8Array(chunk));
      return;
    }
    this.#owner = owner;
    this.#buffer.set(new Uint8Array(chunk), this.#length);
    this.#length += size;
    if (last) this.flush();
    else this.#schedule();
  }

  flush(): void {
    const owner = this.#owner;
    if (owner === null || this.#length === 0 || this.#delivering) return;
    this.#delivering = true;
    try {
      owner.deliver(this.#buffer.subarray(0, this.#length));
    } finally {
      this.#delivering = false;
      this.#length = 0;
      this.#owner = null;
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }
}
