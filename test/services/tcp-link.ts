import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { TokenBucket } from './token-bucket.ts';

export type CutKind = 'fin' | 'rst';

/** How one direction of a connection behaves; what is left out has no effect. */
export interface LinkSettings {
  readonly bytesPerSecond?: number | undefined;
  /** Each piece arrives so much later; the rate stays. */
  readonly delayMs?: number | undefined;
  /** Nothing goes on until this is false again; the sender is held back once buffers are full. */
  readonly frozen?: boolean | undefined;
  /** After so many bytes in this direction, counted from the connection's start, both sockets are closed. */
  readonly cutAfterBytes?: number | undefined;
  /** How, when cutAfterBytes is reached: `rst` unless given. */
  readonly cutKind?: CutKind | undefined;
}

interface Piece {
  readonly bytes: Buffer;
  readonly due: number;
}

const maxQueuedBytes = 64 * 1024;

/** Carries what one socket says to another, by settings that may change at any time. */
export class TcpLink {
  /** Bytes handed on so far. */
  forwarded = 0;
  #settings: LinkSettings = {};
  #bucket: TokenBucket | null = null;
  readonly #queue: Piece[] = [];
  #queued = 0;
  #ended = false;
  #blocked = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #cut: (kind: CutKind) => void;

  constructor(from: Socket, to: Socket, cut: (kind: CutKind) => void) {
    this.#from = from;
    this.#to = to;
    this.#cut = cut;
    from.on('data', (bytes: Buffer) => this.#accept(bytes));
    from.on('end', () => {
      this.#ended = true;
      this.#pump();
    });
    const unblock = (): void => {
      this.#blocked = this.#stopped;
      this.#pump();
    };
    this.#blocked = to.connecting;
    to.once('connect', unblock).on('drain', unblock);
    to.once('close', () => this.stop());
  }

  /** Changes what is given and keeps the rest; undefined takes a setting back. */
  set(changes: LinkSettings): void {
    this.#settings = { ...this.#settings, ...changes };
    if ('bytesPerSecond' in changes) {
      const { bytesPerSecond } = changes;
      this.#bucket = bytesPerSecond === undefined ? null : new TokenBucket(bytesPerSecond, performance.now());
    }
    this.#pump();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
    this.#stopped = true;
    this.#blocked = true;
  }

  #accept(bytes: Buffer): void {
    this.#queue.push({ bytes, due: performance.now() + (this.#settings.delayMs ?? 0) });
    this.#queued += bytes.length;
    if (this.#queued >= maxQueuedBytes) this.#from.pause();
    this.#pump();
  }

  /** Hands on what may go now, and comes back when more may. */
  #pump(): void {
    clearTimeout(this.#timer);
    while (!this.#blocked && this.#settings.frozen !== true && !this.#to.destroyed) {
      const { cutAfterBytes = Number.POSITIVE_INFINITY } = this.#settings;
      if (this.forwarded >= cutAfterBytes) {
        this.stop();
        this.#cut(this.#settings.cutKind ?? 'rst');
        return;
      }
      const first = this.#queue[0];
      if (first === undefined) {
        if (this.#ended && !this.#to.writableEnded) this.#to.end();
        return;
      }
      const now = performance.now();
      if (first.due > now) {
        this.#later(first.due - now);
        return;
      }
      const wanted = Math.min(first.bytes.length, cutAfterBytes - this.forwarded);
      const length = this.#bucket?.take(wanted, now) ?? wanted;
      if (length === 0) {
        this.#later(this.#bucket?.wait() ?? 0);
        return;
      }
      this.#forward(first, length);
    }
  }

  #forward(first: Piece, length: number): void {
    if (length === first.bytes.length) this.#queue.shift();
    else this.#queue[0] = { bytes: first.bytes.subarray(length), due: first.due };
    this.#queued -= length;
    this.forwarded += length;
    if (!this.#to.write(first.bytes.subarray(0, length))) this.#blocked = true;
    if (this.#queued < maxQueuedBytes) this.#from.resume();
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => this.#pump(), Math.max(ms, 1));
  }
}
