import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure, type TLSSocket } from 'node:tls';
import { type Attempt, DeadlinePassed } from '../limits/deadline.ts';
import { FairShare } from '../limits/fair-share.ts';
import {
  type ExchangeLimits,
  Http1Connection,
  type Http1Request,
  type PacedSink,
} from './http1-connection.ts';
import { StreamedAnswer } from './streamed-answer.ts';
import { WholeAnswer } from './whole-answer.ts';

/** Requests that may wait for a connection. In practice other limits on what they hold are reached first. */
const queueLimit = 65_536;

export interface Http1PoolOptions {
  readonly base: URL;
  /** The server in error messages, such as `the object store`. */
  readonly name: string;
  /** Concurrent connections; further requests wait. */
  readonly limit: number;
  /** Milliseconds, including the TLS handshake. */
  readonly connectTimeout: number;
  /** Milliseconds after which an idle connection is closed, before the server would close it. */
  readonly idleLimit: number;
  /** Reuse a connection only if the server says how long it keeps it: otherwise the server may close it at that moment. */
  readonly announcedOnly?: boolean;
  /** Most bytes of a buffered answer. */
  readonly maxAnswer: number;
  /** PEM: the authority of the server's certificate; absent: Node's own list. */
  readonly ca?: Buffer | undefined;
}

/**
 * Keep-alive connections to one server, for requests without a streamed body. node:http takes twice the CPU for this
 * (docs/decisions/005-part-bodies-beside-the-sdk.md), and its other features are not needed here.
 */
export class Http1Pool {
  readonly #options: Http1PoolOptions;
  readonly #server: { readonly secure: boolean; readonly host: string; readonly port: number };
  readonly #slots: FairShare;
  readonly #idle: Http1Connection[] = [];
  readonly #open = new Set<Socket>();
  /** The TLS session of an earlier connection, which saves the next one a full handshake. */
  #tlsSession: Buffer | undefined;
  #closed = false;

  constructor(options: Http1PoolOptions) {
    const { base, limit, name } = options;
    this.#options = options;
    const secure = base.protocol === 'https:';
    this.#server = {
      secure,
      // URL has brackets around an IPv6 address, sockets don't
      host: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port === '' ? (secure ? 443 : 80) : Number(base.port),
    };
    this.#slots = new FairShare({ capacity: limit, queueLimit, full: `too many requests wait for ${name}` });
  }

  /**
   * Sends a request once, and reads its answer to the end. See Http1Connection.exchange.
   * @param maxAnswer most bytes of the answer's body
   */
  async exchange(
    request: Http1Request,
    limits: ExchangeLimits,
    maxAnswer = this.#options.maxAnswer,
  ): Promise<WholeAnswer> {
    // the Content-Length of an answer to HEAD is the object's
    const answer = new WholeAnswer(request.noBody === true ? Number.POSITIVE_INFINITY : maxAnswer);
    await this.#exchange(request, answer, limits);
    return answer;
  }

  /** Sends a request once. Resolves with the head of the answer; the attempt ends with the last byte. */
  stream(request: Http1Request, limits: ExchangeLimits): Promise<StreamedAnswer> {
    const answer = new StreamedAnswer(limits.attempt);
    this.#exchange(request, answer, limits).then(
      () => answer.end(),
      (error: unknown) => answer.fail(error),
    );
    return answer.begun;
  }

  async #exchange(request: Http1Request, sink: PacedSink, limits: ExchangeLimits): Promise<void> {
    limits.attempt.throwIfStopped();
    const release = this.#slots.tryClaim('', 1)?.release ?? (await this.#slots.take(limits.attempt.signal));
    try {
      const connection = this.#takeIdle() ?? (await this.#connect(limits.attempt));
      await connection.exchange(request, sink, limits);
      const mayClose = this.#options.announcedOnly === true && !connection.announced;
      if (mayClose) connection.close();
      else if (connection.usable) this.#idle.push(connection);
    } finally {
      release();
    }
  }

  /** Closes all connections; running exchanges fail. */
  close(): void {
    this.#closed = true;
    for (const socket of this.#open) socket.destroy();
  }

  #takeIdle(): Http1Connection | undefined {
    // the most recently used one, so that the others can expire
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.usable) return connection;
    }
  }

  #connect(attempt: Attempt): Promise<Http1Connection> {
    const { secure } = this.#server;
    const { name, connectTimeout, idleLimit } = this.#options;
    return new Promise((resolve, reject) => {
      attempt.throwIfStopped();
      if (this.#closed) throw new Error(`${name} is closed`);
      const socket = secure ? this.#openSecure() : connectPlain({ ...this.#server, noDelay: true });
      this.#open.add(socket);
      let failure: Error | undefined;
      const timer = setTimeout(() => {
        failure = new DeadlinePassed('no connection', connectTimeout);
        socket.destroy();
      }, connectTimeout);
      const settled = (): void => {
        clearTimeout(timer);
        attempt.onStop = null;
      };
      const onError = (error: Error): void => {
        failure ??= error;
      };
      const onClose = (): void => {
        settled();
        this.#open.delete(socket);
        reject(attempt.stopped ? attempt.reason : neverConnected(failure));
      };
      attempt.onStop = () => void socket.destroy();
      socket.on('error', onError);
      socket.once('close', onClose);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        settled();
        socket.off('close', onClose);
        const connection = new Http1Connection(socket, { secure, idleLimit });
        socket.off('error', onError);
        connection.onClosed(() => {
          this.#open.delete(socket);
          const place = this.#idle.indexOf(connection);
          if (place !== -1) this.#idle.splice(place, 1);
        });
        resolve(connection);
      });
    });
  }

  #openSecure(): TLSSocket {
    const { host, port } = this.#server;
    const { ca } = this.#options;
    const socket = connectSecure({
      host,
      port,
      ...(ca === undefined ? {} : { ca }),
      // RFC 6066 section 3: a server name can't be an address
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ['http/1.1'],
      ...(this.#tlsSession === undefined ? {} : { session: this.#tlsSession }),
    });
    socket.setNoDelay(true);
    socket.on('session', (session) => {
      this.#tlsSession = session;
    });
    // the server may have forgotten the session
    socket.on('error', () => {
      this.#tlsSession = undefined;
    });
    return socket;
  }
}

/** The error of a failed connect, marked like Node's own: nothing was sent. */
function neverConnected(failure: Error | undefined): Error {
  const lost = Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
  return Object.assign(failure ?? lost, { syscall: 'connect' });
}
