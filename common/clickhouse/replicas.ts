import { databaseUnavailable } from '../errors/catalogue.ts';
import { untilAborted } from '../limits/until-aborted.ts';
import type { Log } from '../log/log.ts';
import type { ClickhouseServer, Until } from './clickhouse-server.ts';
import { isServerFailure, ServerSilent } from './engine-failure.ts';
import { HomeOrder } from './home-order.ts';
import { type HealthTimes, ServerHealth } from './server-health.ts';
import { UnknownOutcome } from './unknown-outcome.ts';

/** Servers that one statement is tried on. */
const attempts = 3;
/** Milliseconds after which a server that did not answer yet is asked whether it lives, and again. */
const usualPatience = 3000;

export interface ReplicasOptions {
  readonly servers: readonly ClickhouseServer[];
  readonly catchUp: CatchUp;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly times?: (Partial<HealthTimes> & { readonly patience?: number }) | undefined;
}

/** Brings a server's data of a key up to date, before this process reads it there. */
export interface CatchUp {
  ready(member: Member, key: string, signal: AbortSignal): Promise<void>;
}

/** For servers that have the same data at any time. */
export const sameData: CatchUp = { async ready() {} };

interface Member {
  readonly url: string;
  readonly server: ClickhouseServer;
  readonly health: ServerHealth;
}

/** The server of a key, and the number of its returns at that time. */
interface Place {
  readonly member: Member;
  readonly returns: number;
  readonly ready: Promise<void>;
}

/** For servers whose data may be older than that of another one. */
export class ReplicaCatchUp implements CatchUp {
  readonly #work: (server: ClickhouseServer, key: string) => Promise<void>;
  readonly #places = new Map<string, Place>();

  constructor(work: (server: ClickhouseServer, key: string) => Promise<void>) {
    this.#work = work;
  }

  async ready(member: Member, key: string, signal: AbortSignal): Promise<void> {
    const { returns } = member.health;
    let place = this.#places.get(key);
    if (place?.member !== member || place.returns !== returns) {
      // for all waiting callers, so no single one's signal ends it
      const ready = this.#work(member.server, key);
      const fresh: Place = { member, returns, ready };
      this.#places.set(key, fresh);
      place = fresh;
      ready.catch(() => {
        if (this.#places.get(key) === fresh) this.#places.delete(key);
      });
    }
    await untilAborted(place.ready, signal).catch((error: unknown) => {
      throw signal.aborted ? databaseUnavailable(error) : error;
    });
  }
}

/**
 * Several servers with the same data. A statement with a key goes to its home as long as that is well, so that reads see
 * earlier writes. A server that fails is set aside, and the next one takes its place once it has caught up.
 */
export class Replicas {
  readonly #members: readonly Member[];
  readonly #order: HomeOrder<Member>;
  readonly #catchUp: CatchUp;
  readonly #patience: number;

  constructor({ servers, catchUp, log, times }: ReplicasOptions) {
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
    this.#catchUp = catchUp;
    this.#patience = times?.patience ?? usualPatience;
  }

  /**
   * Does work on the key's home, or on the next server when it surely was not done there. Rejects with the last failure
   * when no server does it; `until.signal` bounds all of it.
   */
  async run<Result>(
    key: string,
    until: Until,
    work: (server: ClickhouseServer, until: Until) => Promise<Result>,
  ): Promise<Result> {
    const [only, second] = this.#members;
    // with nowhere else to go there is nothing to decide
    if (only !== undefined && second === undefined) return work(only.server, until);
    let failure: unknown;
    for (const member of this.#candidates(key)) {
      try {
        return await this.#watched(member, until, async (own) => {
          await this.#catchUp.ready(member, key, own.signal);
          return work(member.server, own);
        });
      } catch (error) {
        until.caller?.throwIfAborted();
        failure = error;
        if (!isServerFailure(error) || until.signal.aborted) throw error;
        member.health.setAside(error);
        // it may have been done: elsewhere it would be done twice
        if (error instanceof UnknownOutcome) throw error;
      }
    }
    throw failure;
  }

  close(): void {
    for (const { health } of this.#members) health.close();
  }

  /** The servers to try, at most `attempts`; those that were set aside only when the others fail. */
  #candidates(key: string): readonly Member[] {
    const order = this.#order.of(key);
    const usable = order.filter(({ health }) => health.usable);
    return [...usable, ...order.filter(({ health }) => !health.usable)].slice(0, attempts);
  }

  /** Gives the work up when the server no longer answers: a connection to a machine that is gone may seem to be there. */
  async #watched<Result>(
    { health, url }: Member,
    until: Until,
    work: (until: Until) => Promise<Result>,
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
