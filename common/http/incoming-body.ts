import type { BodySink, RequestBody } from './http-types.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** The two calls on the native response that steer reading. */
export interface SocketFlow {
  pause(): void;
  resume(): void;
}

/**
 * A request body between the native callbacks and a sink. Chunks pass to the sink without a copy while it keeps up;
 * what arrives before there is a sink, or after a pause (the native read loop finishes what it holds), is copied
 * and queued, and the socket is paused, so the queue stays below one receive buffer (512 KiB) plus one chunk.
 */
export class IncomingBody implements RequestBody {
  readonly contentLength: number | undefined;
  #flow: SocketFlow;
  #budget: MemoryBudget;
  #reserved = 0;
  #queue: Uint8Array[] = [];
  #sink: BodySink | null = null;
  #sinkBlocked = false;
  #socketPaused = false;
  #discarding = false;
  #settled = false;
  #failure: Error | null = null;
  /** All bytes have arrived from the socket. */
  complete: boolean;
  /** Bytes that have arrived from the socket. */
  received = 0;
  /** When bytes last arrived or reading went on, in milliseconds of the monotonic clock. */
  lastActivity: number;

  constructor(args: {
    contentLength: number | undefined;
    flow: SocketFlow;
    budget: MemoryBudget;
    now: number;
  }) {
    this.contentLength = args.contentLength;
    this.complete = args.contentLength === 0;
    this.#flow = args.flow;
    this.#budget = args.budget;
    this.lastActivity = args.now;
  }

  /** Whether the socket is being read, so that silence is the client's. */
  get reading(): boolean {
    return !this.complete && !this.#socketPaused;
  }

  /** Takes a native chunk, whose memory is gone when the call returns. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.received += chunk.byteLength;
    this.lastActivity = performance.now();
    if (isLast) this.complete = true;
    if (this.#discarding || this.#settled) return;
    if (chunk.byteLength > 0) {
      if (this.#sink !== null && !this.#sinkBlocked && this.#queue.length === 0) {
        this.#sinkBlocked = !this.#sink.write(new Uint8Array(chunk));
      } else {
        this.#queue.push(new Uint8Array(chunk.slice(0)));
      }
    }
    if (isLast) this.#endWhenDrained();
    else if (this.#sink === null || this.#sinkBlocked) this.#pauseSocket();
  }

  consume(sink: BodySink): void {
    if (this.#sink !== null) throw new Error('a request body can be consumed once');
    this.#sink = sink;
    if (this.#failure !== null) {
      this.#settled = true;
      sink.fail(this.#failure);
      return;
    }
    this.#drain();
  }

  resume(): void {
    if (this.#settled || !this.#sinkBlocked) return;
    this.#sinkBlocked = false;
    this.#drain();
  }

  reserveMemory(bytes: number): boolean {
    if (!this.#budget.reserve(bytes)) return false;
    this.#reserved += bytes;
    return true;
  }

  /** The body will not be complete. The sink hears of it once. */
  fail(error: Error): void {
    if (this.#settled || this.#failure !== null) return;
    this.#failure = error;
    this.#queue = [];
    if (this.#sink !== null) {
      this.#settled = true;
      this.#sink.fail(error);
    }
  }

  /** Drops everything that is still to come; a paused socket is read again. */
  discard(): void {
    this.#discarding = true;
    this.#queue = [];
    this.#resumeSocket();
  }

  releaseMemory(): void {
    this.#budget.release(this.#reserved);
    this.#reserved = 0;
  }

  pauseSocket(): void {
    this.#pauseSocket();
  }

  #drain(): void {
    const sink = this.#sink as BodySink;
    while (this.#queue.length > 0 && !this.#sinkBlocked && !this.#settled) {
      this.#sinkBlocked = !sink.write(this.#queue.shift() as Uint8Array);
    }
    if (this.#sinkBlocked || this.#settled) return;
    this.#endWhenDrained();
    if (!this.complete) this.#resumeSocket();
  }

  #endWhenDrained(): void {
    if (!this.complete || this.#settled || this.#sink === null) return;
    if (this.#sinkBlocked || this.#queue.length > 0) return;
    this.#settled = true;
    this.#sink.end();
  }

  #pauseSocket(): void {
    if (this.#socketPaused || this.complete) return;
    this.#socketPaused = true;
    this.#flow.pause();
  }

  #resumeSocket(): void {
    if (!this.#socketPaused) return;
    this.#socketPaused = false;
    this.lastActivity = performance.now();
    this.#flow.resume();
  }
}
