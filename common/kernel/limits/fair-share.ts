import { overloaded } from '../errors/catalogue.ts';

/** A claim to an amount: held, or waiting. */
export interface Claim {
  /** False while the claim waits. */
  readonly granted: boolean;
  /** Releases the amount, or stops waiting. A second call does nothing. */
  readonly release: () => void;
}

interface QueuedClaim extends Claim {
  readonly account: string;
  readonly amount: number;
  granted: boolean;
  onGranted: () => void;
  /** Called by `failAll`. */
  onFailed: (error: Error) => void;
}

const nothing = (): void => {};

export interface FairShareOptions {
  /** The total amount. A larger claim is admitted when nothing else is held. */
  readonly capacity: number;
  /** The most that one account may hold; by default all. A larger claim is admitted when its account holds nothing else. */
  readonly share?: number;
  /** Capacity reserved for accounts that hold nothing; by default none. */
  readonly reserve?: number;
  /** Claims that may wait. */
  readonly queueLimit: number;
  /** Claims of one account that may wait; by default half of all, or all when claims have no account. */
  readonly accountQueueLimit?: number;
  /** Milliseconds that `take` waits; by default until its signal is aborted. */
  readonly waitLimit?: number | undefined;
  /** The text of the 503 when too many claims wait, or a claim waits too long. */
  readonly full: string;
}

/**
 * A weighted semaphore, fair between accounts: for connections, sessions, memory. When nothing is left, claims wait. The
 * account that holds least is served first; ties go to the account that was served longest ago. The claims of an account
 * keep their order. An account at its share is skipped. A claim that is larger than what is free blocks all others:
 * otherwise small claims would starve it.
 */
export class FairShare {
  readonly #options: FairShareOptions;
  readonly #share: number;
  #reserve: number;
  readonly #held = new Map<string, number>();
  /** Waiting claims by account, the least recently served account first. */
  readonly #waiting = new Map<string, Set<QueuedClaim>>();
  #waiters = 0;
  #used = 0;
  #capacity: number;

  constructor(options: FairShareOptions) {
    this.#options = options;
    this.#capacity = options.capacity;
    this.#share = options.share ?? options.capacity;
    this.#reserve = options.reserve ?? 0;
  }

  /** Takes effect for new claims; amounts already held stay held. */
  resize({ capacity, reserve }: { readonly capacity: number; readonly reserve: number }): void {
    this.#capacity = capacity;
    this.#reserve = reserve;
    if (this.#waiters > 0) this.#admit();
  }

  get used(): number {
    return this.#used;
  }

  /** Whether nothing is free. */
  get exhausted(): boolean {
    return this.#used >= this.#capacity;
  }

  /** Held amounts by account. */
  get held(): ReadonlyMap<string, number> {
    return this.#held;
  }

  /** The number of waiting claims. */
  get waiters(): number {
    return this.#waiters;
  }

  /** The number of waiting claims by account. */
  get waiting(): ReadonlyMap<string, ReadonlySet<Claim>> {
    return this.#waiting;
  }

  /** Whether others wait for this account's amount. */
  wantedFrom(account: string): boolean {
    if (this.#waiting.has(account)) return true;
    for (const line of this.#waiting.values()) {
      for (const { amount } of line) if (!this.#isLeft(amount)) return true;
    }
    return false;
  }

  /** Claims an amount: holds it at once, or waits. Throws 503 when too many claims wait. */
  claim(account: string, amount: number, onGranted = nothing): Claim {
    const entry = this.#enter(account, amount);
    entry.onGranted = onGranted;
    return entry;
  }

  /** Claims an amount if it is free now; null otherwise. */
  tryClaim(account: string, amount: number): Claim | null {
    const entry = this.#join(account, amount);
    if (entry.granted) return entry;
    entry.release();
    return null;
  }

  /**
   * Claims 1, and resolves with a function that releases it. Rejects with 503 when too many claims wait, or when it
   * waits too long, and with the signal's reason if that is aborted first.
   * @param account all claims without an account count as one account
   */
  async take(signal: AbortSignal | undefined, account = ''): Promise<() => void> {
    signal?.throwIfAborted();
    const entry = this.#enter(account, 1);
    if (!entry.granted) await this.#granted(entry, signal);
    return entry.release;
  }

  /** Runs work while holding 1. Rejects like `take` if the work can't start. */
  async run<Result>(
    work: () => Promise<Result>,
    signal: AbortSignal | undefined,
    account?: string,
  ): Promise<Result> {
    const release = await this.take(signal, account);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Rejects all waiting calls of `take`. */
  failAll(error: Error): void {
    const all = [...this.#waiting.values()].flatMap((line) => [...line]);
    for (const { onFailed } of all) onFailed(error);
  }

  /** Whether the account's share allows the claim. */
  #mayHold(account: string, amount: number): boolean {
    const own = this.#held.get(account) ?? 0;
    if (own === 0) return true;
    return own + amount <= this.#share && this.#used + amount <= this.#capacity - this.#reserve;
  }

  #isLeft(amount: number): boolean {
    return this.#used === 0 || this.#used + amount <= this.#capacity;
  }

  #enter(account: string, amount: number): QueuedClaim {
    const { queueLimit, accountQueueLimit, full } = this.#options;
    const entry = this.#join(account, amount);
    if (entry.granted) return entry;
    const ownLimit = accountQueueLimit ?? (account === '' ? queueLimit : Math.ceil(queueLimit / 2));
    const own = this.#waiting.get(account)?.size ?? 0;
    if (this.#waiters <= queueLimit && own <= ownLimit) return entry;
    entry.release();
    throw overloaded(full);
  }

  /** Holds the claim if it fits, and queues it otherwise. */
  #join(account: string, amount: number): QueuedClaim {
    const release = (): void => this.#release(entry);
    const entry: QueuedClaim = {
      account,
      amount,
      granted: false,
      onGranted: nothing,
      onFailed: nothing,
      release,
    };
    const overtakesNobody = this.#waiters === 0 && this.#mayHold(account, amount) && this.#isLeft(amount);
    if (overtakesNobody || amount === 0) {
      this.#hold(entry);
      return entry;
    }
    const line = this.#waiting.get(account) ?? new Set<QueuedClaim>();
    if (line.size === 0) this.#waiting.set(account, line);
    line.add(entry);
    this.#waiters++;
    this.#admit();
    return entry;
  }

  #granted(entry: QueuedClaim, signal: AbortSignal | undefined): Promise<void> {
    const { waitLimit, full } = this.#options;
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const fail = (error: Error): void => {
        settled();
        entry.release();
        reject(error);
      };
      const onAbort = (): void => fail(signal?.reason as Error);
      const timer = waitLimit === undefined ? undefined : setTimeout(() => fail(overloaded(full)), waitLimit);
      entry.onGranted = () => {
        settled();
        resolve();
      };
      entry.onFailed = fail;
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #admit(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const { account } = next;
      this.#leave(next);
      const line = this.#waiting.get(account);
      if (line !== undefined) {
        this.#waiting.delete(account);
        this.#waiting.set(account, line);
      }
      this.#hold(next);
      next.onGranted();
    }
  }

  #hold(entry: QueuedClaim): void {
    const { account, amount } = entry;
    entry.granted = true;
    this.#used += amount;
    this.#held.set(account, (this.#held.get(account) ?? 0) + amount);
  }

  /** The claim to serve next, if any fits. */
  #next(): QueuedClaim | null {
    if (this.exhausted) return null;
    let next: QueuedClaim | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const [account, line] of this.#waiting) {
      const own = this.#held.get(account) ?? 0;
      if (own >= least) continue;
      const first = line.values().next().value as QueuedClaim;
      if (!this.#mayHold(account, first.amount)) continue;
      next = first;
      least = own;
      if (own === 0) break;
    }
    return next !== null && this.#isLeft(next.amount) ? next : null;
  }

  #release(entry: QueuedClaim): void {
    const { account, amount } = entry;
    if (entry.granted) {
      entry.granted = false;
      this.#used -= amount;
      const left = (this.#held.get(account) as number) - amount;
      if (left > 0) this.#held.set(account, left);
      else this.#held.delete(account);
    } else if (!this.#leave(entry)) return;
    if (this.#waiters > 0) this.#admit();
  }

  /** @returns whether it waited */
  #leave(entry: QueuedClaim): boolean {
    const line = this.#waiting.get(entry.account);
    if (line?.delete(entry) !== true) return false;
    if (line.size === 0) this.#waiting.delete(entry.account);
    this.#waiters--;
    return true;
  }
}
