import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { overloaded, tooManyAttempts } from '#kernel/errors/catalogue.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { FailureDelays, SharedFailures } from './shared-failures.ts';

/** Failed and running attempts of one identity. */
interface IdentityAttempts {
  failures: number;
  running: number;
  /** Earliest time of the next attempt. */
  readyAt: number;
  readonly waiting: (() => void)[];
}

export interface LoginThrottleOptions extends FailureDelays {
  /** A longer delay is answered with 429. */
  readonly longestWait: number;
  /** How many requests may wait in this process, of one identity and of all. */
  readonly waitersPerIdentity: number;
  readonly waiters: number;
  /** Identities that are remembered in this process. */
  readonly identities: number;
}

export const loginThrottleDefaults: LoginThrottleOptions = {
  free: 3,
  firstDelay: 250,
  longestDelay: 30_000,
  rememberedFor: 15 * 60_000,
  longestWait: 5_000,
  waitersPerIdentity: 100,
  waiters: 1000,
  identities: 100_000,
};

/**
 * Exponential backoff against guessed passwords. After a few failures, attempts of one identity run one by one, each
 * after twice the previous delay. A success resets it. Unknown identities are treated alike. Each process counts its own
 * failures, and also shares them if it can: the longer delay applies.
 */
export class LoginThrottle {
  readonly #options: LoginThrottleOptions;
  readonly #identities: LRUCache<string, IdentityAttempts>;
  readonly #now: () => number;
  readonly #shared: SharedFailures | undefined;
  #waiters = 0;

  constructor(
    options: LoginThrottleOptions = loginThrottleDefaults,
    {
      shared,
      now = () => performance.now(),
    }: { shared?: SharedFailures | undefined; now?: () => number } = {},
  ) {
    this.#options = options;
    this.#now = now;
    this.#shared = shared;
    this.#identities = new LRUCache({ ...upTo(options.identities), ttl: options.rememberedFor });
  }

  /**
   * Runs an attempt in its turn. A result of null is a failure; an exception counts as neither. Rejects with 429 when the
   * delay is too long, and with 503 when too many attempts wait.
   */
  async run<Result>(
    key: string,
    attempt: () => Promise<Result | null>,
    signal: AbortSignal,
  ): Promise<Result | null> {
    const identity = this.#identities.get(key) ?? this.#add(key);
    await this.#turn(identity, signal);
    try {
      const deadline = this.#now() + this.#options.longestWait;
      await this.#delay(identity.readyAt - this.#now(), deadline, signal);
      const result = await this.#sharedAttempt(key, attempt, deadline, signal);
      if (result === null) this.#fail(key, identity);
      else this.#identities.delete(key);
      return result;
    } finally {
      identity.running--;
      this.#wake(identity);
    }
  }

  async #delay(wait: number, deadline: number, signal: AbortSignal): Promise<void> {
    if (this.#now() + wait > deadline) throw tooManyAttempts(Math.ceil(wait / 1000));
    if (wait > 0) await this.#counted(() => sleep(wait, undefined, { signal }));
  }

  /** Runs an attempt when the shared count allows it. */
  async #sharedAttempt<Result>(
    key: string,
    attempt: () => Promise<Result | null>,
    deadline: number,
    signal: AbortSignal,
  ): Promise<Result | null> {
    const shared = this.#shared;
    if (shared === undefined) return attempt();
    let wait = await shared.begin(key);
    while (wait !== null && wait > 0) {
      await this.#delay(wait, deadline, signal);
      // another process may have started its attempt first
      wait = await shared.begin(key);
    }
    let result: Result | null;
    try {
      result = await attempt();
    } catch (error) {
      await shared.withdraw(key);
      throw error;
    }
    if (result !== null) await shared.forget(key);
    return result;
  }

  #add(key: string): IdentityAttempts {
    const identity: IdentityAttempts = {
      failures: 0,
      running: 0,
      readyAt: Number.NEGATIVE_INFINITY,
      waiting: [],
    };
    this.#identities.set(key, identity);
    return identity;
  }

  #fail(key: string, identity: IdentityAttempts): void {
    const { free, firstDelay, longestDelay } = this.#options;
    const costly = ++identity.failures - free;
    if (costly > 0) {
      identity.readyAt = this.#now() + Math.min(longestDelay, firstDelay * 2 ** (costly - 1));
    }
    // restarts the time after which it is forgotten
    this.#identities.set(key, identity);
  }

  /** Running attempts count as failures, because they may fail. */
  #mayRun({ failures, running }: IdentityAttempts): boolean {
    return running === 0 || running + failures < this.#options.free;
  }

  async #turn(identity: IdentityAttempts, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (identity.waiting.length === 0 && this.#mayRun(identity)) {
      identity.running++;
      return;
    }
    if (identity.waiting.length >= this.#options.waitersPerIdentity) throw tooManyAttempts(1);
    await this.#counted(() => this.#wait(identity, signal));
  }

  #wait({ waiting }: IdentityAttempts, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (reason: Error): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        waiting.splice(waiting.indexOf(take), 1);
        reject(reason);
      };
      const onAbort = (): void => giveUp(signal.reason as Error);
      const take = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const timer = setTimeout(() => giveUp(tooManyAttempts(1)), this.#options.longestWait);
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.push(take);
    });
  }

  async #counted(wait: () => Promise<unknown>): Promise<void> {
    if (this.#waiters >= this.#options.waiters) throw overloaded('too many attempts to log in wait');
    this.#waiters++;
    try {
      await wait();
    } finally {
      this.#waiters--;
    }
  }

  #wake(identity: IdentityAttempts): void {
    while (identity.waiting.length > 0 && this.#mayRun(identity)) {
      identity.running++;
      identity.waiting.shift()?.();
    }
  }
}
