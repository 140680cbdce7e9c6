import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Answer, AnswerOptions, RequestBody } from './answer.ts';
import { AnswerParser } from './answer-parser.ts';

export type { Answer, AnswerOptions, RequestBody } from './answer.ts';

/**
 * One keep-alive connection of HTTP/1.1 without a client in between: encoded requests go straight to the socket. One request
 * at a time. A connection that failed stays closed.
 */
export class Connection {
  readonly #socket: Socket;
  #parser: AnswerParser | null = null;
  /** Of the request that is under way. */
  #signal: AbortSignal | null = null;
  #resolve: ((answer: Answer) => void) | null = null;
  #reject: ((error: Error) => void) | null = null;
  #onDrain: (() => void) | null = null;
  #failure: Error | null = null;
  /** A body is not written to its end. */
  #isWriting = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.#drained());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#end());
  }

  /** Rejects with the socket's error, or the signal's reason. */
  static open(url: string, signal?: AbortSignal): Promise<Connection> {
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    const isTls = protocol === 'https:';
    const address = { host, port: Number(port || (isTls ? 443 : 80)) };
    return new Promise((resolve, reject) => {
      // a load test may go to a server with a certificate of its own
      const socket = isTls ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
      const fail = (error: Error): void => {
        signal?.removeEventListener('abort', abort);
        // a name may have several addresses, and the error of all of them has no words
        reject(error instanceof AggregateError ? error.errors[0] : error);
      };
      // the connection outlives the request that opened it, so the socket itself must not know the signal
      const abort = (): void => void socket.destroy(reasonOf(signal as AbortSignal));
      socket.once('error', fail);
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        socket.off('error', fail);
        signal?.removeEventListener('abort', abort);
        if (!isOfItself(socket)) resolve(new Connection(socket));
        else {
          socket.destroy();
          reject(Object.assign(new Error('nothing listens there'), { code: 'ECONNREFUSED' }));
        }
      });
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted) abort();
    });
  }

  get closed(): boolean {
    return this.#failure !== null;
  }

  /** Of this side. */
  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  /**
   * Sends a request and resolves with its answer, which may come before the end of the body; the rest of the body is then
   * not sent, and the connection is closed.
   * @param head with the empty line at its end
   */
  async send(head: string | Buffer, body?: RequestBody, options: AnswerOptions = {}): Promise<Answer> {
    if (this.#failure !== null) throw this.#failure;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // no other method begins with an H
    this.#parser = new AnswerParser(
      (typeof head === 'string' ? head.charCodeAt(0) : head[0]) === 72,
      options,
    );
    const { signal } = options;
    this.#signal = signal ?? null;
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted) this.#abort();
    try {
      if (body === undefined) this.#socket.write(head, 'latin1');
      else {
        answer.catch(() => {});
        const written = this.#write(head, body);
        // a body that comes over time may still wait for its next bytes when the answer is there
        await (Symbol.asyncIterator in body ? Promise.race([written, answer]) : written);
      }
      return await answer;
    } finally {
      if (this.#isWriting) this.close();
      signal?.removeEventListener('abort', this.#abort);
    }
  }

  close(): void {
    this.#fail(new ConnectionClosed());
    this.#socket.destroy();
  }

  async #write(head: string | Buffer, body: RequestBody): Promise<void> {
    const socket = this.#socket;
    // in one write with what fits
    socket.cork();
    process.nextTick(() => socket.uncork());
    socket.write(head, 'latin1');
    this.#isWriting = true;
    if (Symbol.asyncIterator in body) {
      for await (const slice of body) {
        if (this.#isRefused()) return;
        if (!socket.write(slice)) await this.#drain();
      }
    } else {
      for (const slice of Buffer.isBuffer(body) ? [body] : body) {
        if (this.#isRefused()) return;
        if (!socket.write(slice)) await this.#drain();
      }
    }
    this.#isWriting = false;
  }

  /** Whether there is an answer before the end of the body, or will be none: then the connection is of no more use. */
  #isRefused(): boolean {
    if (this.#parser !== null && this.#failure === null) return false;
    this.close();
    return true;
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrain = resolve;
    });
  }

  #receive(chunk: Buffer): void {
    const parser = this.#parser;
    if (parser === null) {
      this.#socket.destroy(new Error('bytes came without a request'));
      return;
    }
    let answer: Answer | null;
    try {
      answer = parser.add(chunk);
    } catch (error) {
      this.#socket.destroy(error as Error);
      return;
    }
    if (answer === null) return;
    this.#parser = null;
    this.#resolve?.(answer);
    this.#drained();
    if (parser.closes) this.close();
  }

  #drained(): void {
    this.#onDrain?.();
    this.#onDrain = null;
  }

  readonly #abort = (): void => {
    this.#fail(reasonOf(this.#signal as AbortSignal));
    this.#socket.destroy();
  };

  /** A body without a length ends with the connection, unless that failed (RFC 9112, 6.3). */
  #end(): void {
    if (this.#failure === null && this.#parser?.endsWithConnection) {
      this.#resolve?.(this.#parser.end());
      this.#parser = null;
    }
    this.#fail(new ConnectionClosed());
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    if (this.#parser !== null) this.#reject?.(this.#failure);
    this.#parser = null;
    this.#drained();
  }
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

class ConnectionClosed extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed before the answer');
  }
}

/**
 * A port of this machine on which nothing listens may be chosen for the socket itself, and TCP then connects the two: a server that
 * starts again could not have its port back.
 */
function isOfItself({ localPort, remotePort, localAddress, remoteAddress }: Socket): boolean {
  return localPort === remotePort && localAddress === remoteAddress;
}
