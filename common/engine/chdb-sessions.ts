import { createRequire } from 'node:module';
import type { Session } from 'chdb';
import { FairShare, type FairShareOptions } from '#kernel/limits/fair-share.ts';

/** Loads the embedded engine, which a production install may omit. Throws an Error with one clear sentence. */
export function loadChdb(): typeof import('chdb') {
  try {
    return createRequire(import.meta.url)('chdb') as typeof import('chdb');
  } catch (cause) {
    const { platform, arch } = process;
    const missing = (cause as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
    throw new Error(
      `the embedded engine ${missing ? 'is not installed' : "can't be loaded"} (chdb, ${platform}-${arch}): set CLICKHOUSE_URL ` +
        'to use a ClickHouse server, or install with optional packages on Linux with glibc or on macOS',
      { cause },
    );
  }
}

/** Exclusive use of a session. `release` or `replace` ends it; later calls do nothing. */
export interface SessionTurn {
  readonly session: Session;
  /** The engine's name for statements of the session. */
  readonly name: string;
  release(): void;
  /**
   * Replaces a session whose statement failed: otherwise rows of that statement would precede the next result, which may
   * belong to another account. Resolves when the engine has released the statement.
   */
  replace(): Promise<void>;
}

interface NamedSession {
  readonly session: Session;
  readonly name: string;
}

/**
 * A bounded pool of engine sessions on a data directory. Sessions run in parallel; each runs one statement, or feeds one
 * stream, at a time.
 */
export class SessionPool {
  readonly #name: string;
  readonly #open: (name: string) => Session;
  readonly #slots: FairShare;
  readonly #all = new Set<Session>();
  readonly #idle: NamedSession[] = [];
  #opened = 0;
  #closed = false;

  constructor(
    args: Pick<FairShareOptions, 'capacity' | 'queueLimit'> & {
      name: string;
      open: (name: string) => Session;
    },
  ) {
    this.#name = args.name;
    this.#open = args.open;
    this.#slots = new FairShare({ ...args, full: 'too many statements wait' });
  }

  /** Opens the first session now, so that a problem of the directory shows at start. */
  warm(): void {
    this.#idle.push(this.#fresh());
  }

  /** Waits for a session, in turn. Rejects with 503 when too many wait, and when the signal is aborted. */
  async acquire(signal: AbortSignal | undefined): Promise<SessionTurn> {
    signal?.throwIfAborted();
    this.#checkOpen();
    const release = await this.#slots.take(signal);
    try {
      this.#checkOpen();
      return this.#turn(this.#idle.pop() ?? this.#fresh(), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    this.#slots.failAll(new Error('the database is closed'));
    for (const session of this.#all) session.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error('the database is closed');
  }

  #fresh(): NamedSession {
    const name = `${this.#name} ${this.#opened++}`;
    const session = this.#open(name);
    this.#all.add(session);
    return { session, name };
  }

  #turn({ session, name }: NamedSession, release: () => void): SessionTurn {
    let held = true;
    const giveBack = (replace: boolean): void => {
      if (!held) return;
      held = false;
      if (!this.#closed) {
        if (replace) this.#exchange(session);
        else this.#idle.push({ session, name });
      }
      release();
    };
    const replace = async (): Promise<void> => {
      try {
        // a failed statement keeps its memory until the next one; a session only closes after all statements
        await session.queryAsync('SELECT 1');
      } catch {
        // its result does not matter
      }
      giveBack(true);
    };
    return { session, name, release: () => giveBack(false), replace };
  }

  #exchange(session: Session): void {
    try {
      // open the new session first: closing the last one would stop the engine
      this.#idle.push(this.#fresh());
    } catch {
      // the next use retries, and fails with the reason
    }
    this.#all.delete(session);
    session.close();
  }
}
