import { overloaded, payloadTooLarge, requestTimeout } from '#kernel/errors/catalogue.ts';
import type { ObjectWriter } from '#objects/object-store.ts';
import type { BodySink, RequestBody } from '#server/http/http-types.ts';
import type { Digests } from '../digest/file-digests.ts';
import type { FileHead } from '../inspect/file-head.ts';
import type { MemoryLease } from '../memory/memory-lease.ts';
import type { UploadMemory } from '../memory/upload-memory.ts';
import type { Scanner } from '../scan/scanner.ts';
import { type AssembledObject, PartAssembler, type PartRules } from './part-assembler.ts';

/** An object whose bytes have all arrived: call `complete` of its writer with the last part, or `abort`. */
export interface ReceivedObject extends AssembledObject {
  /** Releases the memory of the last part. Always call it, once the writer is done with it. */
  readonly release: () => void;
}

/** Finds the object's bytes in a body. Errors that it throws fail the upload. */
export interface BodyReader {
  /** The next bytes of the body. Their memory may be reused when the call returns. */
  feed(chunk: Uint8Array): void;
  /** The body has ended: calls `finish` or `fail`, now or later. */
  end(): void;
}

/** Receives the object that a reader finds. */
export interface ObjectStage {
  /** Begins the object. Its signal is aborted as soon as the upload fails; the head tells what the first bytes are. */
  begin(open: (signal: AbortSignal, head: FileHead) => Promise<ObjectWriter>): void;
  /** The next bytes of the object. */
  write(bytes: Uint8Array): void;
  /**
   * The object is complete. @param check gets the CRC32 of its bytes; its error fails the upload
   * @param goesOn more bytes of the file come by another request
   */
  finish(check: (crc32: number) => void, goesOn?: boolean): void;
  fail(error: unknown): void;
}

export interface ReceiveBodyArgs {
  readonly body: Pick<RequestBody, 'contentLength' | 'consume' | 'resume'>;
  readonly rules: PartRules;
  readonly memory: UploadMemory;
  readonly digests: Pick<Digests, 'begin'>;
  /** undefined: the object is not scanned, or not yet. */
  readonly scanner?: Pick<Scanner, 'begin'> | undefined;
  /** The account whose share of the memory it takes. */
  readonly account: string;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  /** Gets the cleanup that continues after a failure; it never rejects. Absent: the failure waits for the cleanup. */
  readonly onCleanup?: (cleanup: Promise<void>) => void;
  /** Makes the reader of the body. */
  readonly reader: (object: ObjectStage) => BodyReader;
}

/**
 * Reads a body and stores the object that the reader finds in it, no faster than store and memory allow; nothing is
 * read before there is memory for it. Rejects with 408, 413, 503 or an error of the reader, the store or the body, and
 * then aborts the object.
 */
export function receiveBody(args: ReceiveBodyArgs): Promise<ReceivedObject> {
  return new Promise((resolve, reject) => {
    new BodyReception(args, resolve, reject).start();
  });
}

/** One body's pipeline, from the socket through reader and assembler to the store, with backpressure from memory. */
class BodyReception {
  readonly #args: ReceiveBodyArgs;
  readonly #resolve: (object: ReceivedObject) => void;
  readonly #reject: (error: unknown) => void;
  // AbortSignal.any would do the same for five times the CPU
  readonly #stopped = new AbortController();
  readonly #lease: MemoryLease;
  readonly #parts: PartAssembler;
  readonly #reader: BodyReader;
  readonly #sink: BodySink = {
    write: (chunk) => this.#read(chunk),
    end: () => this.#end(),
    fail: (error) => this.#fail(error),
  };
  #bodyBytes = 0;
  #state: 'waiting' | 'consuming' | 'body over' | 'settled' = 'waiting';
  /** The socket was paused. */
  #paused = false;

  constructor(
    args: ReceiveBodyArgs,
    resolve: (object: ReceivedObject) => void,
    reject: (error: unknown) => void,
  ) {
    this.#args = args;
    this.#resolve = resolve;
    this.#reject = reject;
    const { memory } = args;
    // before this upload's own lease counts
    const smallParts = memory.short;
    this.#lease = memory.open(args.account, {
      resume: () => this.#continue(),
      flush: () => this.#flush(),
      cut: (reason) => this.#fail(reason === 'slow' ? tooSlow() : overloaded('no upload memory became free')),
    });
    this.#parts = new PartAssembler({
      rules: args.rules,
      maxBytes: args.body.contentLength ?? Number.POSITIVE_INFINITY,
      smallParts,
      digest: args.digests.begin(),
      scan: args.scanner?.begin(args.account),
      memory: this.#lease,
      onRoom: () => {
        if (this.#state === 'consuming' && !this.#parts.blocked) this.#want();
      },
      onError: (error) => this.#fail(error),
    });
    this.#reader = args.reader({
      begin: (open) => this.#parts.start(open(this.#stopped.signal, this.#parts.head)),
      write: (bytes) => this.#parts.write(bytes),
      finish: (check, goesOn) => this.#finish(check, goesOn),
      fail: (error) => this.#fail(error),
    });
  }

  start(): void {
    const { signal } = this.#args;
    const onAbort = (): void => {
      this.#fail(signal.reason);
      // even if everything was received: the object has yet to be completed
      this.#stopped.abort(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    else this.#want();
  }

  /** Asks for room, and continues once there is some, which may be at once. */
  #want(): void {
    const { contentLength } = this.#args.body;
    const { room } = this.#parts;
    const rest = contentLength === undefined ? Number.POSITIVE_INFINITY : contentLength - this.#bodyBytes;
    this.#lease.want(Math.min(room, rest), rest <= room);
    this.#continue();
  }

  #flush(): boolean {
    const flushed = this.#parts.flush();
    if (flushed) this.#want();
    return flushed;
  }

  #continue(): void {
    if (!this.#lease.reading || this.#parts.blocked) return;
    if (this.#state === 'waiting') {
      this.#state = 'consuming';
      this.#args.body.consume(this.#sink);
    } else if (this.#paused && this.#state === 'consuming') {
      this.#paused = false;
      this.#args.body.resume();
    }
  }

  #read(chunk: Uint8Array): boolean {
    // a failed upload reads no more; the answer to the request decides what happens to the rest
    if (this.#state === 'settled') return false;
    this.#bodyBytes += chunk.byteLength;
    const { maxBodyBytes } = this.#args;
    try {
      if (this.#bodyBytes > maxBodyBytes) throw payloadTooLarge(maxBodyBytes, 'Request body');
      this.#reader.feed(chunk);
    } catch (error) {
      this.#fail(error);
      return false;
    }
    this.#lease.arrived(chunk.byteLength);
    // the store must catch up first, so leave the memory to others
    if (this.#parts.blocked) this.#lease.idle();
    else this.#want();
    this.#paused = !this.#lease.reading;
    return !this.#paused;
  }

  #end(): void {
    if (this.#state === 'settled') return;
    this.#state = 'body over';
    this.#lease.idle();
    this.#reader.end();
  }

  #finish(check: (crc32: number) => void, goesOn?: boolean): void {
    this.#parts.finish(check, goesOn).then(
      (assembled) => {
        if (this.#state === 'settled') {
          this.#parts.release(assembled.last);
          return;
        }
        this.#state = 'settled';
        const release = (): void => {
          this.#parts.release(assembled.last);
          this.#lease.close();
        };
        this.#resolve({ release, ...assembled });
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    if (this.#state === 'settled') return;
    this.#state = 'settled';
    this.#stopped.abort(error);
    this.#lease.idle();
    const { onCleanup } = this.#args;
    const dropped = this.#parts.abort().then(() => this.#lease.close());
    onCleanup?.(dropped);
    if (onCleanup !== undefined) this.#reject(error);
    else void dropped.then(() => this.#reject(error));
  }
}

const tooSlow = () => requestTimeout('The upload was too slow while others waited for its memory');
