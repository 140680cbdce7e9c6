import { type Answer, type AnswerOptions, Connection, type RequestBody } from './connection.ts';

/** Servers close idle connections; Sluice says `Keep-Alive: timeout=7`. Milliseconds. */
const idleTime = 5000;

interface Idle {
  readonly connection: Connection;
  readonly since: number;
}

/** The connections of a worker to one server. Each request takes one that is idle, or opens another. */
export class ConnectionPool {
  readonly #url: string;
  /** The one that was used last is the last. */
  readonly #idle: Idle[] = [];
  readonly #open = new Set<Connection>();

  constructor(url: string) {
    this.#url = url;
  }

  /** Connections that are open, busy ones included. */
  get size(): number {
    return this.#open.size;
  }

  /** Sends a request over one of the connections. Rejects when there is no answer. */
  async send(head: string | Buffer, body?: RequestBody, options: AnswerOptions = {}): Promise<Answer> {
    const connection = this.#takeIdle() ?? (await this.#connect(options.signal));
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

  async #connect(signal: AbortSignal | undefined): Promise<Connection> {
    const connection = await Connection.open(this.#url, signal);
    this.#open.add(connection);
    return connection;
  }

  #giveBack(connection: Connection): void {
    if (connection.closed) this.#open.delete(connection);
    else this.#idle.push({ connection, since: performance.now() });
  }

  #drop(idle: Idle | undefined): void {
    if (idle === undefined) return;
    this.#open.delete(idle.connection);
    idle.connection.close();
  }
}
