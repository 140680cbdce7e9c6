import type { Socket } from 'node:net';
import { type Attempt, DeadlinePassed } from '../../../limits/deadline.ts';
import { AnswerReader, type Http1Answer } from './answer-reader.ts';

/** A request as it is sent: its head as text, and the bytes of its body. */
export interface Http1Request {
  /** With the empty line that ends it; characters of latin1. */
  readonly head: string;
  readonly chunks: readonly Uint8Array[];
}

export interface ExchangeLimits {
  /** How long the connection may bring nothing and take nothing. Milliseconds. */
  readonly quiet: number;
  /** Stopped: the connection is cut. */
  readonly attempt: Attempt;
}

interface Exchange {
  readonly resolve: (answer: Http1Answer) => void;
  readonly reject: (reason: unknown) => void;
  readonly limits: ExchangeLimits;
  readonly reader: AnswerReader;
  /** All bytes of the request are with the system, and nothing refers to the chunks any more. */
  written: boolean;
  answer: Http1Answer | null;
}

/** S3 answers a part with headers, and an error with a few lines of XML. Bytes. */
const maxAnswer = 64 * 1024;
/** A connection is closed before the server would: S3 keeps idle ones for longer. Milliseconds. */
const idleLimit = 10_000;

/** A connection that is there, for one exchange after the other. */
export class Http1Connection {
  readonly #socket: Socket;
  readonly #secure: boolean;
  #exchange: Exchange | null = null;
  #failure: unknown;
  #closed = false;
  #onClosed: () => void = () => {};

  constructor(socket: Socket, secure: boolean) {
    this.#socket = socket;
    this.#secure = secure;
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk));
    socket.on('end', () => this.#serverEnded());
    socket.on('timeout', () => this.#quietForTooLong());
    socket.on('error', (error) => {
      this.#failure ??= error;
    });
    socket.on('close', () => this.#over());
    this.#closed = socket.destroyed;
    socket.setTimeout(idleLimit);
  }

  /** Another exchange may begin. */
  get usable(): boolean {
    return !this.#closed && this.#exchange === null && !this.#socket.destroyed && this.#socket.writable;
  }

  /** Calls the listener once, when the connection is closed. There can be one. */
  onClosed(listener: () => void): void {
    this.#onClosed = listener;
    if (this.#closed) listener();
  }

  /**
   * Sends a request and reads its answer. When it settles nothing refers to the chunks any more, and the connection is
   * free or closed. Rejects with the reason of a stop, or the error of the connection.
   */
  exchange({ head, chunks }: Http1Request, limits: ExchangeLimits): Promise<Http1Answer> {
    return new Promise((resolve, reject) => {
      const { attempt, quiet } = limits;
      const exchange: Exchange = {
        resolve,
        reject,
        limits,
        reader: new AnswerReader(maxAnswer),
        written: false,
        answer: null,
      };
      this.#exchange = exchange;
      if (attempt.stopped) {
        this.#fail(attempt.reason);
        return;
      }
      attempt.onStop = () => this.#fail(attempt.reason);
      const socket = this.#socket;
      socket.setTimeout(quiet);
      const written = (error?: Error | null): void => {
        // an error comes by its event, and with it the end
        if (error) return;
        exchange.written = true;
        if (exchange.answer !== null) this.#finish(exchange, exchange.answer);
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
    if (exchange === null || exchange.answer !== null) {
      // nobody asked for it
      this.#socket.destroy();
      return;
    }
    try {
      exchange.answer = exchange.reader.feed(chunk);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (exchange.answer !== null) this.#answered(exchange, exchange.answer);
  }

  #answered(exchange: Exchange, answer: Http1Answer): void {
    if (exchange.written) {
      this.#finish(exchange, answer);
      return;
    }
    // the news that all is written may come in the same turn of the event loop
    setImmediate(() => {
      // answered early: the rest would be sent for nothing, from chunks that are not ours any more
      if (!exchange.written && this.#exchange === exchange) this.#socket.destroy();
    });
  }

  #finish(exchange: Exchange, answer: Http1Answer): void {
    if (this.#exchange !== exchange) return;
    if (!answer.keepAlive) {
      this.#socket.destroy();
      return;
    }
    this.#exchange = null;
    exchange.limits.attempt.onStop = null;
    this.#socket.setTimeout(idleLimit);
    exchange.resolve(answer);
  }

  #serverEnded(): void {
    const exchange = this.#exchange;
    if (exchange !== null) exchange.answer ??= exchange.reader.end();
    this.#socket.destroy();
  }

  #quietForTooLong(): void {
    if (this.#exchange === null) this.#socket.destroy();
    else this.#fail(new DeadlinePassed('the connection was quiet', this.#exchange.limits.quiet));
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    // with RST, so that a server doesn't carry out an abandoned request; TLS has no such thing
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
    if (this.#failure === undefined && exchange.answer !== null) exchange.resolve(exchange.answer);
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
