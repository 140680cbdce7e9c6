import { overloaded } from '#kernel/errors/catalogue.ts';
import type { Claim } from '#kernel/limits/fair-share.ts';
import { activeSpan, withActiveSpan } from '#kernel/telemetry/active-span.ts';
import { type BodyMemory, type MemoryKind, smallBody } from './body-memory.ts';
import type { ChunkJoiner, JoinedChunks } from './chunk-joiner.ts';
import type { BodySink, RequestBody } from './http-types.ts';

/** The two calls on the native response that control reading. */
export interface SocketFlow {
  pause(): void;
  resume(): void;
}

/** Bytes that wait for a sink, and their memory claim while the account is unknown. */
interface QueuedChunk {
  readonly bytes: Uint8Array;
  readonly claim: Claim | null;
}

/** The least rate of a body, over a period, while others wait for its memory. Bytes per second. */
const minRate = { bytes: 8192, milliseconds: 5000 };

/**
 * A request body between the native callbacks and a sink. Chunks pass to the sink without a copy while it keeps up;
 * bytes that arrive before there is a sink, or after a pause (the native read loop finishes its buffer), are copied
 * and queued, and the socket is paused, so the queue stays below one receive buffer (512 KiB) plus one chunk.
 */
export class IncomingBody implements RequestBody, JoinedChunks {
  readonly contentLength: number | undefined;
  #flow: SocketFlow;
  #memory: BodyMemory;
  #joiner: ChunkJoiner;
  #account: string | null = null;
  /** Null: not created yet. */
  #claims: Map<Claim, MemoryKind> | null = null;
  /** Null: nothing was queued. */
  #queue: QueuedChunk[] | null = null;
  #queuedBytes = 0;
  #sink: BodySink | null = null;
  #sinkBlocked = false;
  #socketPaused = false;
  #discarding = false;
  #settled = false;
  #failure: Error | null = null;
  /** Start of the period over which the rate is measured, and the bytes received by then. */
  #rateFrom: number;
  #rateReceived = 0;
  /** It was too slow in the last complete period. */
  #slow = false;
  /** Called when the body fails while it waits for memory. */
  #onFailed: ((error: Error) => void) | null = null;
  /** All bytes have arrived from the socket. */
  complete: boolean;
  /** Bytes that have arrived from the socket. */
  received = 0;
  /** When bytes last arrived or reading continued, in milliseconds of the monotonic clock. */
  lastActivity: number;

  constructor(args: {
    contentLength: number | undefined;
    flow: SocketFlow;
    memory: BodyMemory;
    joiner: ChunkJoiner;
    now: number;
  }) {
    this.contentLength = args.contentLength;
    this.complete = args.contentLength === 0;
    this.#flow = args.flow;
    this.#memory = args.memory;
    this.#joiner = args.joiner;
    this.lastActivity = args.now;
    this.#rateFrom = args.now;
  }

  /** Whether the socket is being read, so that silence means a stalled client. */
  get reading(): boolean {
    return !this.complete && !this.#socketPaused;
  }

  /** Receives a native chunk, whose memory is invalid after the call. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.received += chunk.byteLength;
    this.lastActivity = performance.now();
    if (isLast) this.complete = true;
    if (this.#over) return;
    this.#joiner.add(this, chunk, isLast);
    if (isLast) this.#endWhenDrained();
    else if (this.#sink === null || this.#sinkBlocked) this.pauseSocket();
  }

  deliver(chunk: Uint8Array): void {
    if (this.#over) return;
    if (this.#sink !== null && !this.#sinkBlocked && !this.#queue?.length) {
      this.#sinkBlocked = !this.#sink.write(chunk);
      if (this.#sinkBlocked) this.pauseSocket();
      return;
    }
    const claim = this.#account === null && this.#sink === null ? this.#claimUnidentified(chunk) : null;
    if (claim === undefined) {
      this.fail(overloaded('too many request bodies arrive at once'));
      return;
    }
    this.#queue ??= [];
    this.#queue.push({ bytes: new Uint8Array(chunk), claim });
    this.#queuedBytes += chunk.byteLength;
  }

  /** The account of the request, once it is known. */
  get account(): string | null {
    return this.#account;
  }

  identify(account: string): void {
    this.#account = account;
    if (this.#queue !== null) for (const { claim } of this.#queue) claim?.release();
  }

  consume(sink: BodySink): void {
    if (this.#sink !== null) throw new Error('a request body can be consumed once');
    this.#sink = inSpan(sink);
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

  putBack(chunk: Uint8Array): void {
    this.#queue ??= [];
    this.#queue.unshift({ bytes: new Uint8Array(chunk), claim: null });
    this.#queuedBytes += chunk.byteLength;
  }

  tryClaim(kind: MemoryKind, amount: number): (() => void) | null {
    const claim = this.#memory[kind].tryClaim(this.#account ?? '', amount);
    return claim === null ? null : this.#keep(claim, kind);
  }

  async claim(kind: MemoryKind, amount: number): Promise<() => void> {
    if (this.#failure !== null) throw this.#failure;
    const atOnce = this.tryClaim(kind, amount);
    if (atOnce !== null) return atOnce;
    // the received bytes stay in memory during the wait
    const queued = this.#memory.small.tryClaim(this.#account ?? '', this.#queuedBytes);
    if (queued === null) throw overloaded('too many request bodies wait for memory');
    try {
      return await this.#wait(kind, amount);
    } finally {
      queued.release();
    }
  }

  /** Whether the body is too slow while others wait for its memory. Called periodically. */
  isTooSlow(now: number): boolean {
    const elapsed = now - this.#rateFrom;
    const claims = this.#claims;
    if (!this.reading || claims === null || claims.size === 0) {
      this.#beginPeriod(now);
      this.#slow = false;
      return false;
    }
    if (elapsed >= minRate.milliseconds) {
      this.#slow = (this.received - this.#rateReceived) * 1000 < minRate.bytes * elapsed;
      this.#beginPeriod(now);
    }
    if (!this.#slow) return false;
    const account = this.#account ?? '';
    return [...claims.values()].some((kind) => this.#memory[kind].wantedFrom(account));
  }

  /** The body will never be complete. Reports that to the sink once. */
  fail(error: Error): void {
    this.#onFailed?.(error);
    this.#onFailed = null;
    if (this.#settled || this.#failure !== null) return;
    this.#failure = error;
    this.#dropQueue();
    if (this.#sink !== null) {
      this.#settled = true;
      this.#sink.fail(error);
    }
  }

  /** Drops the rest of the body; a paused socket is resumed. */
  discard(): void {
    this.#discarding = true;
    this.#dropQueue();
    this.#resumeSocket();
  }

  /** The request is over. */
  releaseMemory(): void {
    this.#dropQueue();
    if (this.#claims === null) return;
    for (const claim of this.#claims.keys()) claim.release();
    this.#claims.clear();
  }

  /** Pauses the socket until `discard`, or until a sink takes more. */
  pauseSocket(): void {
    if (this.#socketPaused || this.complete) return;
    this.#socketPaused = true;
    this.#flow.pause();
  }

  #beginPeriod(now: number): void {
    this.#rateFrom = now;
    this.#rateReceived = this.received;
  }

  get #over(): boolean {
    return this.#discarding || this.#settled || this.#failure !== null;
  }

  /** Returns undefined if there is no memory for the chunk. */
  #claimUnidentified(chunk: Uint8Array): Claim | undefined {
    const taker = this.#queuedBytes + chunk.byteLength <= smallBody ? 'small' : 'large';
    return this.#memory.unidentified.tryClaim(taker, chunk.byteLength) ?? undefined;
  }

  #keep(claim: Claim, kind: MemoryKind): () => void {
    const claims = this.#claims ?? new Map<Claim, MemoryKind>();
    this.#claims = claims;
    claims.set(claim, kind);
    return () => {
      claims.delete(claim);
      claim.release();
    };
  }

  #wait(kind: MemoryKind, amount: number): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const claim = this.#memory[kind].claim(this.#account ?? '', amount, () => {
        this.#onFailed = null;
        resolve(this.#keep(claim, kind));
      });
      this.#onFailed = (error) => {
        claim.release();
        reject(error);
      };
    });
  }

  #dropQueue(): void {
    if (this.#queue === null) return;
    for (const { claim } of this.#queue) claim?.release();
    this.#queue = null;
    this.#queuedBytes = 0;
  }

  #drain(): void {
    const sink = this.#sink as BodySink;
    for (;;) {
      const next = this.#sinkBlocked || this.#settled ? undefined : this.#queue?.shift();
      if (next === undefined) break;
      const { bytes, claim } = next;
      this.#queuedBytes -= bytes.byteLength;
      claim?.release();
      this.#sinkBlocked = !sink.write(bytes);
    }
    if (this.#sinkBlocked || this.#settled) return;
    this.#endWhenDrained();
    if (!this.complete) this.#resumeSocket();
  }

  #endWhenDrained(): void {
    if (!this.complete || this.#settled || this.#sink === null) return;
    if (this.#sinkBlocked || this.#queue?.length) return;
    this.#settled = true;
    this.#sink.end();
  }

  #resumeSocket(): void {
    if (!this.#socketPaused) return;
    this.#socketPaused = false;
    this.lastActivity = performance.now();
    this.#flow.resume();
  }
}

/** Native callbacks have no request context, so the work of a sink is put into the span of its request. */
function inSpan(sink: BodySink): BodySink {
  const span = activeSpan();
  if (span === undefined) return sink;
  return {
    write: (chunk) => withActiveSpan(span, () => sink.write(chunk)),
    end: () => withActiveSpan(span, () => sink.end()),
    fail: (error) => withActiveSpan(span, () => sink.fail(error)),
  };
}
