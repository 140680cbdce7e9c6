import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Part } from '#objects/object-store.ts';

/** Bytes of one message to the thread, and the number of such buffers for all files. */
const pieceBytes = 1024 * 1024;
const mostPieces = 16;
/** Files up to this size are hashed on the main thread, which is cheaper. Bytes. */
const smallBytes = 64 * 1024;

/** The thread's code, as text so that it needs no path. Each message has one answer, in order. */
const program = `
const { createHash } = require('node:crypto');
const { parentPort, workerData } = require('node:worker_threads');
const hashes = new Map();
parentPort.on('message', ({ id, at, bytes, over }) => {
  if (bytes > 0) {
    const hash = hashes.get(id) ?? createHash('sha256');
    hashes.set(id, hash.update(new Uint8Array(workerData, at, bytes)));
  }
  const sha256 = over ? (hashes.get(id)?.digest('hex') ?? null) : null;
  if (over) hashes.delete(id);
  parentPort.postMessage(sha256);
});`;

/** A message that the thread has yet to answer. */
interface PendingMessage {
  readonly resolve: (sha256: string | null) => void;
  readonly reject: (error: Error) => void;
  readonly piece: Uint8Array | null;
}

/** The SHA-256 of files, in lower-case hexadecimal digits. */
export interface Digests {
  /** Begins a file. */
  begin(): Digest;
  /** Digest of these bytes. Undefined, without reading them, where files have no digests. */
  of(chunks: AsyncIterable<Uint8Array>): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The SHA-256 of one file, whose bytes come in order. */
export interface Digest {
  /** Resolves when the bytes may be reused. */
  update(part: Pick<Part, 'chunks' | 'size'>): Promise<void>;
  /** @param last the last bytes; null: `update` had them all */
  end(last: Pick<Part, 'chunks' | 'size'> | null): Promise<string | undefined>;
  /** Gives up the file. */
  drop(): void;
}

const noDigest: Digest = { async update() {}, end: async () => undefined, drop() {} };

/** For a process whose files have no digests. */
export const noDigests: Digests = { begin: () => noDigest, of: async () => undefined, async close() {} };

/** Computes digests, of larger files in a worker thread. */
export class FileDigests implements Digests {
  #worker: Worker | null = null;
  /** Messages without an answer, in order. */
  #pending: PendingMessage[] = [];
  /** Shared with the thread: transferred memory would count as garbage in both. */
  readonly #memory = new SharedArrayBuffer(mostPieces * pieceBytes);
  readonly #free: Uint8Array[] = Array.from(
    { length: mostPieces },
    (_, index) => new Uint8Array(this.#memory, index * pieceBytes, pieceBytes),
  );
  readonly #waiting: (() => void)[] = [];
  #files = 0;
  /** Files with a smaller id began before a thread died: their digests are lost. */
  #lostFiles = 0;

  begin(): FileDigest {
    return new FileDigest(this, this.#files++);
  }

  async of(chunks: AsyncIterable<Uint8Array>): Promise<string> {
    const digest = this.begin();
    // a message for each chunk costs more than copying it
    let some: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of chunks) {
        some.push(chunk);
        size += chunk.byteLength;
        if (size < pieceBytes) continue;
        await digest.update({ chunks: some, size });
        some = [];
        size = 0;
      }
      return await digest.end({ chunks: some, size });
    } catch (error) {
      digest.drop();
      throw error;
    }
  }

  /** Sends bytes to the thread as soon as a buffer is free. @internal */
  async add(id: number, { chunks }: Pick<Part, 'chunks'>): Promise<void> {
    let piece: Uint8Array | null = null;
    let filled = 0;
    const send = (full: Uint8Array): void => {
      // the answer releases the piece; a lost thread shows in `end`
      this.#ask(id, { piece: full, bytes: filled, over: false }).catch(() => {});
      piece = null;
      filled = 0;
    };
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.byteLength; ) {
        piece ??= await this.#take();
        const some = chunk.subarray(at, at + pieceBytes - filled);
        piece.set(some, filled);
        filled += some.byteLength;
        at += some.byteLength;
        if (filled === pieceBytes) send(piece);
      }
    }
    if (piece !== null) send(piece);
  }

  /** Null: the thread has no bytes of the file. @internal */
  end(id: number): Promise<string | null> {
    return this.#ask(id, { piece: null, bytes: 0, over: true });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #ask(
    id: number,
    { piece, bytes, over }: { piece: Uint8Array | null; bytes: number; over: boolean },
  ): Promise<string | null> {
    return new Promise((resolve, reject) => {
      if (id < this.#lostFiles) {
        this.#give(piece);
        throw new Error('the digest thread ended');
      }
      const worker = this.#started();
      this.#pending.push({ resolve, reject, piece });
      worker.postMessage({ id, at: piece?.byteOffset ?? 0, bytes, over });
    });
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const options = { eval: true, execArgv: [], env: {}, name: 'file digests', workerData: this.#memory };
    const worker = new Worker(program, options);
    worker.unref();
    worker.on('message', (sha256: string | null) => {
      const message = this.#pending.shift();
      this.#give(message?.piece ?? null);
      message?.resolve(sha256);
    });
    worker.on('error', () => {});
    worker.on('exit', () => this.#lost());
    this.#worker = worker;
    return worker;
  }

  /** The thread died: its pending digests fail. The next file starts a new thread. */
  #lost(): void {
    this.#worker = null;
    this.#lostFiles = this.#files;
    for (const { reject, piece } of this.#pending.splice(0)) {
      this.#give(piece);
      reject(new Error('the digest thread ended'));
    }
  }

  async #take(): Promise<Uint8Array> {
    for (;;) {
      const piece = this.#free.pop();
      if (piece !== undefined) return piece;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #give(piece: Uint8Array | null): void {
    if (piece === null) return;
    this.#free.push(piece);
    this.#waiting.shift()?.();
  }
}

class FileDigest implements Digest {
  readonly #digests: FileDigests;
  readonly #id: number;
  #added: Promise<void> | null = null;
  #bytes = 0;

  constructor(digests: FileDigests, id: number) {
    this.#digests = digests;
    this.#id = id;
  }

  update(part: Pick<Part, 'chunks' | 'size'>): Promise<void> {
    this.#bytes += part.size;
    const added = (this.#added ?? Promise.resolve()).then(() => this.#digests.add(this.#id, part));
    this.#added = added;
    // the caller, and `end`, see the rejection
    added.catch(() => {});
    return added;
  }

  async end(last: Pick<Part, 'chunks' | 'size'> | null): Promise<string> {
    if (this.#added === null && (last?.size ?? 0) <= smallBytes) {
      const hash = createHash('sha256');
      for (const chunk of last?.chunks ?? []) hash.update(chunk);
      return hash.digest('hex');
    }
    await (last === null ? this.#added : this.update(last));
    const sha256 = await this.#digests.end(this.#id);
    if (sha256 === null) throw new Error(`the digest thread lost ${this.#bytes} bytes`);
    return sha256;
  }

  drop(): void {
    void this.#added?.then(() => this.#digests.end(this.#id)).catch(() => {});
  }
}
