import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Cancellation, ClickhouseServer } from './clickhouse-server.ts';
import { isServerFailure, ServerSilent } from './engine-failure.ts';
import { HomeOrder } from './home-order.ts';
import { type HealthTimes, ServerHealth } from './server-health.ts';

/** Most servers on which a statement is tried. */
const attempts = 3;
/** Milliseconds after which a server that has not answered yet is probed, and the interval of further probes. */
const usualPatience = 3000;

export interface ReplicasOptions {
  readonly servers: readonly ClickhouseServer[];
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly times?: (Partial<HealthTimes> & { readonly patience?: number }) | undefined;
}

interface Member {
  readonly url: string;
  readonly server: ClickhouseServer;
  readonly health: ServerHealth;
}

/**
 * Several servers with the same data. A statement with a key goes to its home server while that is healthy, so that reads
 * see earlier writes. A failing server is set aside, and the next one takes its place.
 */
export class Replicas {
  readonly #members: readonly Member[];
  readonly #order: HomeOrder<Member>;
  readonly #patience: number;
  /** The statements that watch a single server. */
  readonly #statements = new Set<{ readonly since: number; readonly until: Cancellation }>();
  readonly #watching: NodeJS.Timeout | undefined;

  constructor({ servers, log, times }: ReplicasOptions) {
    this.#members = servers.map((server) => ({
      url: server.url,
      server,
      health: new ServerHealth({
        probe: (signal) => server.probe(signal),
        times,
        changed(usable, reason) {
          const { url } = server;
          if (usable) log.info({ url }, 'a ClickHouse server is back');
          else log.warn({ url, err: reason }, 'a ClickHouse server is set aside');
        },
      }),
    }));
    this.#order = new HomeOrder(this.#members);
    this.#patience = times?.patience ?? usualPatience;
    const [only, second] = this.#members;
    if (only !== undefined && second === undefined)
      this.#watching = setInterval(() => void this.#checkAlone(only), this.#patience).unref();
  }

  /**
   * Does work on the key's home, or on the next server if the home certainly did not do it. Rejects with the last failure
   * if no server does it. The signal bounds all attempts.
   */
  async run<Result>(
    key: string,
    until: Cancellation,
    work: (server: ClickhouseServer, until: Cancellation) => Promise<Result>,
  ): Promise<Result> {
    const [only, second] = this.#members;
    // without another server there is nothing to decide
    if (only !== undefined && second === undefined)
      return this.#running(until, () => work(only.server, until));
    let failure: unknown;
    for (const member of this.#candidates(key)) {
      try {
        return await this.#watched(member, until, (own) => work(member.server, own));
      } catch (error) {
        until.caller?.throwIfAborted();
        failure = error;
        if (!isServerFailure(error) || until.signal.aborted) throw error;
        member.health.setAside(error);
        // it may have been done: another server would do it twice
        if (error instanceof UnknownOutcome) throw error;
      }
    }
    throw failure;
  }

  close(): void {
    clearInterval(this.#watching);
    for (const { health } of this.#members) health.close();
  }

  /** Like `#watched`, for a single server: one timer for all statements. */
  async #running<Result>(until: Cancellation, work: () => Promise<Result>): Promise<Result> {
    const statement = { since: performance.now(), until };
    this.#statements.add(statement);
    try {
      return await work();
    } finally {
      this.#statements.delete(statement);
    }
  }

  async #checkAlone({ health, url }: Member): Promise<void> {
    const before = performance.now() - this.#patience;
    const late = [...this.#statements].filter(({ since }) => since < before);
    if (late.length === 0 || (await health.check()) !== 'away') return;
    for (const { until } of late) until.stop?.(new ServerSilent(url));
  }

  /** The servers to try, at most `attempts`; servers that were set aside come last. */
  #candidates(key: string): readonly Member[] {
    const order = this.#order.of(key);
    const usable = order.filter(({ health }) => health.usable);
    return [...usable, ...order.filter(({ health }) => !health.usable)].slice(0, attempts);
  }

  /** Stops the work when the server no longer responds: a connection to a dead machine may look open. */
  async #watched<Result>(
    { health, url }: Member,
    until: Cancellation,
    work: (until: Cancellation) => Promise<Result>,
  ): Promise<Result> {
    const controller = new AbortController();
    const check = async (): Promise<void> => {
      if ((await health.check()) !== 'away') return;
      controller.abort(new ServerSilent(url));
    };
    const timer = setInterval(() => void check(), this.#patience);
    const signal = AbortSignal.any([until.signal, controller.signal]);
    try {
      return await work({ signal, caller: until.caller });
    } finally {
      clearInterval(timer);
    }
  }
}
