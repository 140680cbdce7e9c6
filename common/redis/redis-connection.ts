/** A Lua script, which Redis runs as one step. */
export interface RedisScript {
  readonly source: string;
  /** Hex SHA-1 of the source, by which Redis knows a script that it has seen. */
  readonly sha1: string;
}

/** What the rooms ask of Redis: scripts, each of which is all done or not at all. */
export interface RedisConnection {
  /**
   * Runs a script. Commands that are begun in one turn of the event loop leave together, and run in their order.
   * Nothing is queued and nothing tried again: rejects with a RedisFailure when Redis is away, refuses, or doesn't
   * answer in time. Writes of a script are refused before its first one, or not at all.
   */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Calls the listener whenever a connection is there, now as well. */
  onConnected(listener: () => void): void;
  close(): Promise<void>;
}

/** A command that did not get the answer it asked for. Its message never holds a password or arguments. */
export class RedisFailure extends Error {
  /** False: the command surely did nothing. True: nobody knows whether it ran, or will run. */
  readonly mayHaveRun: boolean;

  constructor(message: string, mayHaveRun: boolean) {
    super(message);
    this.name = 'RedisFailure';
    this.mayHaveRun = mayHaveRun;
  }
}
