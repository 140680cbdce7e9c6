import { createRequire } from 'node:module';
import type { Session } from 'chdb';
import { overloaded } from '../errors/catalogue.ts';

/** Loads the embedded engine, which a production install may leave out. Throws an Error with one clear sentence. */
export function loadChdb(): typeof import('chdb') {
  try {
    return createRequire(import.meta.url)('chdb') as typeof import('chdb');
  } catch (cause) {
    const { platform, arch } = process;
    throw new Error(
      `the embedded engine chdb can't be loaded (${platform}-${arch}): it needs Linux with glibc or macOS, ` +
        'and an install that does not omit optional dependencies',
      { cause },
    );
  }
}

interface Waiter {
  readonly take: (session: Session) => void;
  readonly fail: (error: Error) => void;
}

/**
 * A bounded set of engine sessions on one data directory. Statements on different sessions run in parallel; one
 * session runs one statement, or feeds one stream, at a time.
 */
export class SessionPool {
  readonly #open: () => Session;
  readonly #limit: number;
  readonly #queueLimit: number;
  readonly #all: Session[] = [];
  readonly #idle: Session[] = [];
  readonly #waiting: Waiter[] = [];
  #closed = false;

  constructor(args: { open: () => Session; limit: number; queueLimit: number }) {
    this.#open = args.open;
    this.#limit = args.limit;
    this.#queueLimit = args.queueLimit;
  }

  /** Opens the first session now, so that what is wrong with the directory shows at start. */
  warm(): void {
    const session = this.#open();
    this.#all.push(session);
    this.#idle.push(session);
  }

  /** Waits for a session, in turn. Rejects with 503 when too many wait, and when the signal is aborted. */
  async acquire(signal: AbortSignal | undefined): Promise<Session> {
    signal?.throwIfAborted();
    if (this.#closed) throw new Error('the database is closed');
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#all.length < this.#limit) {
      const session = this.#open();
      this.#all.push(session);
      return session;
    }
    if (this.#waiting.length >= this.#queueLimit) throw overloaded('too many statements wait');
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        take: (session) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(session);
        },
        fail: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  release(session: Session): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(session);
    else next.take(session);
  }

  /**
   * Takes back a session whose statement failed, and opens another one in its place: what the statement had put out
   * before would come in front of the next one's result, which may be of somebody else.
   */
  replace(session: Session): void {
    if (this.#closed) return;
    const place = this.#all.indexOf(session);
    try {
      // first the new one: with the last one the engine would stop
      const fresh = this.#open();
      this.#all[place] = fresh;
      this.release(fresh);
    } catch (error) {
      this.#all.splice(place, 1);
      this.#waiting.shift()?.fail(error as Error);
    }
    session.close();
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter.fail(new Error('the database is closed'));
    for (const session of this.#all) session.close();
  }
}
