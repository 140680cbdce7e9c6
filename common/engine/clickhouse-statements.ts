import type { ReadLimits } from '#kernel/config/settings.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import {
  type Cancellation,
  ClickhouseServer,
  type ServerOptions,
  type Statement,
} from './clickhouse-server.ts';
import { StatementError } from './engine-failure.ts';
import { engineSettings, replicatedSettings } from './engine-settings.ts';
import { Replicas, type ReplicasOptions } from './replicas.ts';
import { StatementTimeout, type WritePermit } from './write-permit.ts';

export interface ClickhouseOptions extends Omit<ServerOptions, 'url' | 'reads'> {
  /** As in `ServerOptions`; several servers with the same data are separated by commas. */
  readonly url: string;
  /** Deadline of a statement, and of a stream's next bytes. Milliseconds. */
  readonly timeout?: number;
  /** Absent: as documented. */
  readonly reads?: Partial<ReadLimits>;
  /** Whether the engine replicates the tables between the servers. */
  readonly replicated?: boolean;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly times?: ReplicasOptions['times'];
}

/** A statement's home, its caller's signal, and its permit. */
export interface SendOptions {
  readonly home: string;
  readonly signal?: AbortSignal | undefined;
  readonly permit?: WritePermit | undefined;
}

/** Sends statements to the servers: to their home, with a deadline, and with retries if that is safe. */
export class ClickhouseStatements {
  /** Settings of every statement. */
  readonly settings: Statement['settings'];
  readonly serverCount: number;
  readonly timeout: number;
  readonly #servers: readonly ClickhouseServer[];
  readonly #replicas: Replicas;

  constructor(options: ClickhouseOptions, reads: ReadLimits) {
    const { timeout = 60_000, replicated = false, log, times } = options;
    this.timeout = timeout;
    this.settings = replicated ? { ...engineSettings, ...replicatedSettings } : engineSettings;
    this.#servers = options.url.split(',').map((url) => new ClickhouseServer({ ...options, url, reads }));
    this.serverCount = this.#servers.length;
    this.#replicas = new Replicas({ servers: this.#servers, log, times });
  }

  async within<Result>(
    { home, signal: caller }: SendOptions,
    work: (server: ClickhouseServer, until: Cancellation) => Promise<Result>,
    limit = this.timeout,
  ): Promise<Result> {
    caller?.throwIfAborted();
    const controller = new AbortController();
    const stop = (reason: unknown): void => controller.abort(reason);
    const late = (): void => stop(new Error(`the database did not answer within ${limit} ms`));
    const timer = setTimeout(late, limit);
    const onAbort = (): void => controller.abort(caller?.reason);
    caller?.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#replicas.run(home, { signal: controller.signal, caller, stop }, work);
    } finally {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    }
  }

  /** Runs a statement on every server. */
  async writeOnEach(statement: Statement, { signal: caller }: Pick<SendOptions, 'signal'>): Promise<void> {
    for (const server of this.#servers) {
      await withDeadline(caller, this.timeout, ({ signal }) => server.run(statement, { signal, caller }));
    }
  }

  async write(statement: Statement, sending: SendOptions): Promise<void> {
    const { permit } = sending;
    const timed = { ...statement, settings: { ...statement.settings, ...timeLimitSetting(permit) } };
    try {
      await this.within(sending, (server, until) => server.run(timed, until, permit));
    } catch (error) {
      throw permit !== undefined && tookTooLong(error)
        ? new StatementTimeout(permit.timeLimit, error)
        : error;
    }
  }

  async close(): Promise<void> {
    this.#replicas.close();
    for (const server of this.#servers) await server.close();
  }
}

/** TIMEOUT_EXCEEDED, by the engine's number. Rows written before it stay. */
export function tookTooLong(error: unknown): boolean {
  if (!(error instanceof ApiError || error instanceof UnknownOutcome)) return false;
  return error.cause instanceof StatementError && error.cause.engineCode === 159;
}

/** Seconds. A statement that takes longer fails. */
function timeLimitSetting(permit: WritePermit | undefined): Readonly<Record<string, number>> {
  return permit === undefined ? {} : { max_execution_time: permit.timeLimit / 1000 };
}
