import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure, type TLSSocket } from 'node:tls';
import { type Attempt, DeadlinePassed } from '../../../limits/deadline.ts';
import { FairShare } from '../../../limits/fair-share.ts';
import type { Http1Answer } from './answer-reader.ts';
import { type ExchangeLimits, Http1Connection, type Http1Request } from './http1-connection.ts';

/** Requests that wait for a connection. Each holds memory of the uploads' budget, which sets a lower limit in practice. */
const queueLimit = 65_536;

/**
 * Kept connections to one server, for requests that are sent as a whole. node:http does the same for twice the CPU
 * (docs/decisions/005-part-bodies-beside-the-sdk.md); its other abilities are not needed here.
 */
export class Http1Pool {
  readonly #server: { readonly secure: boolean; readonly host: string; readonly port: number };
  readonly #connectTimeout: number;
  readonly #slots: FairShare;
  readonly #idle: Http1Connection[] = [];
  readonly #open = new Set<Socket>();
  /** The session of an earlier connection: the next one needs no full handshake. */
  #tlsSession: Buffer | undefined;
  #closed = false;

  /**
   * @param args.base of the server @param args.limit connections at once; further requests wait
   * @param args.connectTimeout milliseconds, the TLS handshake included
   */
  constructor(args: { base: URL; limit: number; connectTimeout: number }) {
    const { base } = args;
    const secure = base.protocol === 'https:';
    this.#server = {
      secure,
      // URL writes an IPv6 address in brackets, and sockets want it without
      host: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port === '' ? (secure ? 443 : 80) : Number(base.port),
    };
    this.#connectTimeout = args.connectTimeout;
    this.#slots = new FairShare({
      capacity: args.limit,
      queueLimit,
      full: 'too many requests wait for the object store',
    });
  }

  /** Sends a request once. See Http1Connection.exchange. */
  async exchange(request: Http1Request, limits: ExchangeLimits): Promise<Http1Answer> {
    limits.attempt.throwIfStopped();
    const release = this.#slots.tryClaim('', 1)?.release ?? (await this.#slots.take(limits.attempt.signal));
    try {
      const connection = this.#takeIdle() ?? (await this.#connect(limits.attempt));
      const answer = await connection.exchange(request, limits);
      if (connection.usable) this.#idle.push(connection);
      return answer;
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
    return new Promise((resolve, reject) => {
      attempt.throwIfStopped();
      if (this.#closed) throw new Error('the object store is closed');
      const socket = secure ? this.#openSecure() : connectPlain({ ...this.#server, noDelay: true });
      this.#open.add(socket);
      let failure: unknown;
      const giveUp = (reason: unknown): void => {
        failure = reason;
        socket.destroy();
      };
      const timer = setTimeout(
        () => giveUp(new DeadlinePassed('no connection', this.#connectTimeout)),
        this.#connectTimeout,
      );
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
        reject(failure ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }));
      };
      attempt.onStop = () => giveUp(attempt.reason);
      socket.on('error', onError);
      socket.once('close', onClose);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        settled();
        socket.off('close', onClose);
        const connection = new Http1Connection(socket, secure);
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
    const socket = connectSecure({
      host,
      port,
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
