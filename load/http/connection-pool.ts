import { setMaxListeners } from 'node:events';
import { type Answer, type AnswerOptions, Connection, type RequestBody } from './connection.ts';
import { within } from './within.ts';

/** Servers close idle connections, those of Node after 5 s and Sluice after 7: a request that meets that is lost. Milliseconds. */
const idleTime = 4000;

/**
 * Connections that are opened at the same time. After a pause of the server an open loop would ask for hundreds at once: the
 * queue of a listening socket has room for 512 or less, and a connection that finds it full is tried again a second later.
 */
const openedAtOnce = 64;
/** Milliseconds. */
const openTimeout = 10_000;

interface Idle {
  readonly connection: Connection;
  readonly since: number;
}

interface Waiting {
  resolve(connection: Connection): void;
  reject(error: Error): void;
}

/** The connections of a worker to one server. Each request takes one that is idle, or the next that is opened or becomes idle. */
export class ConnectionPool {
  readonly #url: string;
  /** The one that was used last is the last. */
  readonly #idle: Idle[] = [];
  readonly #open = new Set<Connection>();
  /** Requests without a connection, in their order. */
  readonly #waiting = new Set<Waiting>();
  #opening = 0;
  readonly #end = new AbortController();

  constructor(url: string) {
    this.#url = url;
    // each connection that is being opened listens
    setMaxListeners(0, this.#end.signal);
  }

  /** Connections that are open, busy ones included. */
  get size(): number {
    return this.#open.size;
  }

  /** Sends a request over one of the connections. Rejects when there is no answer. */
  async send(head: string | Buffer, body?: RequestBody, options: AnswerOptions = {}): Promise<Answer> {
    const connection = this.#takeIdle() ?? (await this.#wait(options.signal));
    try {
      return await connection.send(head, body, options);
    } finally {
      this.#giveBack(connection);
    }
  }

  /** A connection of its own, for a request that lasts, such as a stream. Close it. */
  connect(signal?: AbortSignal): Promise<Connection> {
    return Connection.open(this.#url, signal);
  }

  close(): void {
    this.#end.abort(new Error('the connections are closed'));
    for (const connection of this.#open) connection.close();
    this.#open.clear();
    this.#idle.length = 0;
  }

  #takeIdle(): Connection | null {
    const now = performance.now();
    // the oldest are the first
    while (this.#idle.length > 0 && now - (this.#idle[0] as Idle).since > idleTime)
      this.#drop(this.#idle.shift());
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      if (!last.connection.closed) return last.connection;
      this.#drop(last);
    }
    return null;
  }

  #wait(signal: AbortSignal | undefined): Promise<Connection> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#waiting.delete(waiting);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiting: Waiting = {
        resolve(connection) {
          end();
          resolve(connection);
        },
        reject(error) {
          end();
          reject(error);
        },
      };
      const onAbort = (): void => waiting.reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiting);
      this.#openMore();
    });
  }

  #openMore(): void {
    while (this.#opening < openedAtOnce && this.#opening < this.#waiting.size) {
      this.#opening++;
      within(this.#end.signal, openTimeout, (signal) => Connection.open(this.#url, signal))
        .then(
          (connection) => {
            this.#open.add(connection);
            this.#giveBack(connection);
          },
          (error: Error) => this.#first?.reject(error),
        )
        .finally(() => {
          this.#opening--;
          this.#openMore();
        });
    }
  }

  get #first(): Waiting | undefined {
    const [first] = this.#waiting;
    return first;
  }

  #giveBack(connection: Connection): void {
    if (connection.closed) {
      this.#open.delete(connection);
      return;
    }
    const first = this.#first;
    if (first === undefined) this.#idle.push({ connection, since: performance.now() });
    else first.resolve(connection);
  }

  #drop(idle: Idle | undefined): void {
    if (idle === undefined) return;
    this.#open.delete(idle.connection);
    idle.connection.close();
  }
}
