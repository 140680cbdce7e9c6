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

/** Requests that wait for a connection. What they hold has lower limits in practice. */
const queueLimit = 65_536;

export interface Http1PoolOptions {
  readonly base: URL;
  /** In errors, such as `the object store`. */
  readonly name: string;
  /** Connections at once; further requests wait. */
  readonly limit: number;
  /** Milliseconds, the TLS handshake included. */
  readonly connectTimeout: number;
  /** Milliseconds after which a connection is closed that nobody uses, before the server would. */
  readonly idleLimit: number;
  /** A connection is used again only where the server says how long it keeps it: others may close it at that moment. */
  readonly announcedOnly?: boolean;
  /** Bytes of an answer that is kept until it is whole. */
  readonly maxAnswer: number;
  /** PEM: the authority of the server's certificate; absent: the authorities that Node knows. */
  readonly ca?: Buffer | undefined;
}

/**
 * Kept connections to one server, for requests that are sent as a whole. node:http does the same for twice the CPU
 * (docs/decisions/005-part-bodies-beside-the-sdk.md); its other abilities are not needed here.
 */
export class Http1Pool {
  readonly #options: Http1PoolOptions;
  readonly #server: { readonly secure: boolean; readonly host: string; readonly port: number };
  readonly #slots: FairShare;
  readonly #idle: Http1Connection[] = [];
  readonly #open = new Set<Socket>();
  /** The session of an earlier connection: the next one needs no full handshake. */
  #tlsSession: Buffer | undefined;
  #closed = false;

  constructor(options: Http1PoolOptions) {
    const { base, limit, name } = options;
    this.#options = options;
    const secure = base.protocol === 'https:';
    this.#server = {
      secure,
      // URL writes an IPv6 address in brackets, and sockets want it without
      host: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port === '' ? (secure ? 443 : 80) : Number(base.port),
    };
    this.#slots = new FairShare({ capacity: limit, queueLimit, full: `too many requests wait for ${name}` });
  }

  /** Sends a request once, and reads its answer to the end. See Http1Connection.exchange. */
  async exchange(request: Http1Request, limits: ExchangeLimits): Promise<WholeAnswer> {
    const answer = new WholeAnswer(this.#options.maxAnswer);
    await this.#exchange(request, answer, limits);
    return answer;
  }

  /** Sends a request once. Resolves when the head of its answer is there; the attempt ends with its last byte. */
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

  /** Closes all connections; exchanges under way fail. */
  close(): void {
    this.#closed = true;
    for (const socket of this.#open) socket.destroy();
  }

  #takeIdle(): Http1Connection | undefined {
    // the one that was used last: the others may grow old
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
    // a session that the server does not know is no use
    socket.on('error', () => {
      this.#tlsSession = undefined;
    });
    return socket;
  }
}

/** The error of a connection that did not come about, marked as Node does: nothing was sent. */
function neverConnected(failure: Error | undefined): Error {
  const lost = Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
  return Object.assign(failure ?? lost, { syscall: 'connect' });
}
