import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs as one step. */
export interface RedisScript {
  readonly source: string;
  /** Hex SHA-1 of the source, by which Redis knows a script that it has seen. */
  readonly sha1: string;
}

export function redisScript(source: string): RedisScript {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/**
 * Redis as the services use it. Commands that are begun in one turn of the event loop leave together, and run in their
 * order (on a cluster: those of one node). Nothing is queued and nothing tried again: all reject with a RedisFailure
 * when Redis is away, refuses, or doesn't answer in time, or when too many wait.
 */
export interface RedisConnection {
  /** Runs a script. Its keys share a hash tag. Writes of a script are refused before its first one, or not at all. */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  get(key: string): Promise<string | null>;
  /** @param lifetime milliseconds */
  set(key: string, value: string, lifetime: number): Promise<void>;
  remove(key: string): Promise<void>;
  /**
   * Receives the messages of a channel, over a connection of its own. While that is down messages are lost without a
   * sign, so a listener that must not miss any has to count them.
   */
  listen(channel: string, onMessage: (message: string) => void): RedisListener;
  /** Calls the listener whenever a connection is there, now as well. */
  onConnected(listener: () => void): void;
  close(): Promise<void>;
}

export interface RedisListener {
  /** Leaves the connection for another one. */
  reconnect(): void;
  close(): void;
}

/** A command that did not get the answer it asked for. Its message never holds a password or arguments. */
export class RedisFailure extends Error {
  /** False: the command surely did nothing. True: it may have run, or may still run. */
  readonly mayHaveRun: boolean;

  constructor(message: string, mayHaveRun: boolean) {
    super(message);
    this.name = 'RedisFailure';
    this.mayHaveRun = mayHaveRun;
  }
}
