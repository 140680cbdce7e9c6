import type { Socket } from 'node:net';
import { type Attempt, DeadlinePassed } from '../limits/deadline.ts';
import { AnswerParser, type AnswerSink } from './answer-parser.ts';

/** A request on the wire: its head as text, and the bytes of its body. */
export interface Http1Request {
  /** Includes the empty line at its end; latin1. */
  readonly head: string;
  readonly chunks: readonly Uint8Array[];
  /** A HEAD: the answer has no body, whatever its length says. */
  readonly noBody?: boolean;
}

export interface ExchangeLimits {
  /** How long the connection may be silent in both directions; 0: no limit. Milliseconds. */
  readonly quiet: number;
  /** Its stop cuts the connection. */
  readonly attempt: Attempt;
}

/** A sink that can pause the answer. */
export interface PacedSink extends AnswerSink {
  /** The sink takes no more for now. */
  readonly full?: boolean;
  /** Called when the sink takes more again. Set by the connection. */
  onRoom?: (() => void) | null;
}

interface Exchange {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
  readonly limits: ExchangeLimits;
  readonly sink: PacedSink;
  readonly parser: AnswerParser;
  /** The kernel has all bytes of the request, and nothing refers to the chunks any more. */
  written: boolean;
  /** The answer is complete. */
  answered: boolean;
}

/** How long before the server an idle connection is closed. Milliseconds. */
const idleMargin = 500;

/** An open connection, for one exchange at a time. */
export class Http1Connection {
  readonly #socket: Socket;
  readonly #secure: boolean;
  readonly #idleLimit: number;
  /** When the connection expires; a busy process notices its close late. By `performance.now()`. */
  #idleUntil = 0;
  #announced = false;
  #exchange: Exchange | null = null;
  #failure: unknown;
  #closed = false;
  #onClosed: () => void = () => {};

  /** @param args.idleLimit milliseconds after which an idle connection is closed, before the server would close it */
  constructor(socket: Socket, args: { secure: boolean; idleLimit: number }) {
    this.#socket = socket;
    this.#secure = args.secure;
    this.#idleLimit = args.idleLimit;
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk));
    socket.on('end', () => this.#serverEnded());
    socket.on('timeout', () => this.#quietForTooLong());
    socket.on('error', (error) => this.#broke(error));
    socket.on('close', () => this.#over());
    this.#closed = socket.destroyed;
    this.#rest(Number.POSITIVE_INFINITY);
  }

  /** Whether another exchange may begin. */
  get usable(): boolean {
    const isFree = !this.#closed && this.#exchange === null;
    const isOpen = !this.#socket.destroyed && this.#socket.writable;
    return isFree && isOpen && performance.now() < this.#idleUntil;
  }

  /** Whether the server said for how long it keeps it. */
  get announced(): boolean {
    return this.#announced;
  }

  /** Calls the listener once, when the connection is closed. There can only be one listener. */
  onClosed(listener: () => void): void {
    this.#onClosed = listener;
    if (this.#closed) listener();
  }

  /**
   * Sends a request and reads its answer. Once it settles, nothing refers to the chunks any more, and the connection is
   * free or closed. Rejects with the reason of a stop, or the error of the connection.
   */
  exchange({ head, chunks, noBody }: Http1Request, sink: PacedSink, limits: ExchangeLimits): Promise<void> {
    return new Promise((resolve, reject) => {
      const { attempt, quiet } = limits;
      const parser = new AnswerParser(sink, { noBody });
      const exchange: Exchange = {
        resolve,
        reject,
        limits,
        sink,
        parser,
        written: false,
        answered: false,
      };
      this.#exchange = exchange;
      if (attempt.stopped) {
        this.#fail(attempt.reason);
        return;
      }
      attempt.onStop = () => this.#fail(attempt.reason);
      const socket = this.#socket;
      sink.onRoom = () => void socket.resume();
      socket.setTimeout(quiet);
      const written = (error?: Error | null): void => {
        // a failed write also emits an error event, which ends the exchange
        if (error) return;
        exchange.written = true;
        if (exchange.answered) this.#finish(exchange);
      };
      const last = chunks.length - 1;
      // one writev(2) for head and chunks
      socket.cork();
      socket.write(head, 'latin1', last < 0 ? written : undefined);
      for (let i = 0; i <= last; i++) socket.write(chunks[i] as Uint8Array, i === last ? written : undefined);
      socket.uncork();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #arrived(chunk: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === null || exchange.answered) {
      // bytes without a request
      this.#socket.destroy();
      return;
    }
    try {
      exchange.answered = exchange.parser.feed(chunk);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (exchange.answered) this.#answered(exchange);
    else if (exchange.sink.full === true) this.#socket.pause();
  }

  #answered(exchange: Exchange): void {
    if (exchange.written) {
      this.#finish(exchange);
      return;
    }
    // the write callback may come in the same turn of the event loop
    setImmediate(() => {
      // an early answer: sending the rest is pointless, and its chunks no longer belong to us
      if (!exchange.written && this.#exchange === exchange) this.#socket.destroy();
    });
  }

  #finish(exchange: Exchange): void {
    if (this.#exchange !== exchange) return;
    if (!exchange.parser.keepAlive) {
      this.#socket.destroy();
      return;
    }
    this.#exchange = null;
    exchange.limits.attempt.onStop = null;
    exchange.sink.onRoom = null;
    this.#rest(exchange.parser.idleTimeout);
    exchange.resolve();
  }

  /** Waits for the next exchange. @param keptFor milliseconds after which the server closes the connection */
  #rest(keptFor: number): void {
    this.#announced = Number.isFinite(keptFor);
    const limit = Math.max(1, Math.min(this.#idleLimit, keptFor - idleMargin));
    this.#idleUntil = performance.now() + limit;
    this.#socket.setTimeout(limit);
  }

  #serverEnded(): void {
    const exchange = this.#exchange;
    if (exchange !== null) exchange.answered ||= exchange.parser.end();
    this.#socket.destroy();
  }

  #quietForTooLong(): void {
    if (this.#exchange === null) this.#socket.destroy();
    else this.#fail(new DeadlinePassed('the connection was quiet', this.#exchange.limits.quiet));
  }

  /** The connection broke, which does not affect a complete answer. */
  #broke(error: Error): void {
    if (this.#exchange?.answered !== true) this.#failure ??= error;
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    // with RST, so that the server doesn't execute an abandoned request; TLS has no equivalent
    if (this.#secure) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  #over(): void {
    this.#closed = true;
    const exchange = this.#exchange;
    this.#exchange = null;
    this.#onClosed();
    if (exchange === null) return;
    exchange.limits.attempt.onStop = null;
    exchange.sink.onRoom = null;
    if (this.#failure === undefined && exchange.answered) exchange.resolve();
    else exchange.reject(this.#failure ?? new ConnectionLost());
  }
}

class ConnectionLost extends Error {
  readonly code = 'ECONNRESET';
  constructor() {
    super('the connection was closed before the answer');
    this.name = 'ConnectionLost';
  }
}
