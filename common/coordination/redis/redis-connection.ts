import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs atomically. */
export interface RedisScript {
  readonly source: string;
  /** Hex SHA-1 of the source, by which Redis finds a cached script. */
  readonly sha1: string;
}

export function redisScript(source: string): RedisScript {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/**
 * Redis as the services use it. Commands of one turn of the event loop are sent together, and run in order (on a cluster:
 * per node). Nothing is queued or retried: a command rejects with a RedisFailure when Redis is down, refuses, or doesn't
 * respond in time, or when too many commands wait.
 */
export interface RedisConnection {
  /** Runs a script. Its keys share a hash tag. Redis refuses a script's writes before the first one, or not at all. */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  get(key: string): Promise<string | null>;
  /** @param lifetime milliseconds */
  set(key: string, value: string, lifetime: number): Promise<void>;
  remove(key: string): Promise<void>;
  /**
   * Receives the messages of a channel, over a separate connection. While that is down messages are silently lost, so a
   * listener that must not miss any has to count them.
   */
  listen(channel: string, onMessage: (message: string) => void): RedisListener;
  /** Calls the listener on every connect, and now if connected. */
  onConnected(listener: () => void): void;
  close(): Promise<void>;
}

export interface RedisListener {
  /** Leaves the connection for another one. */
  reconnect(): void;
  close(): void;
}

/** A failed command. The message never contains a password or arguments. */
export class RedisFailure extends Error {
  /** False: the command certainly did nothing. True: it may have run, or may still run. */
  readonly mayHaveRun: boolean;

  constructor(message: string, mayHaveRun: boolean) {
    super(message);
    this.name = 'RedisFailure';
    this.mayHaveRun = mayHaveRun;
  }
}
