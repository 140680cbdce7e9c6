import { overloaded } from '../errors/catalogue.ts';

interface Waiter {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * Lets a bounded number hold something at once. The others wait, also a bounded number, and accounts take turns: who
 * asks for much waits behind who asks for little.
 */
export class Semaphore {
  readonly #limit: number;
  readonly #accountLimit: number;
  /** What may be held of all by the time somebody takes a second place. */
  readonly #secondLimit: number;
  readonly #queueLimit: number;
  readonly #full: string;
  /** By account, the one that was served longest ago first. */
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #heldBy = new Map<string, number>();
  #waiters = 0;
  #held = 0;

  /**
   * @param args.full what the 503 says when too many wait
   * @param args.accountLimit what one account may hold; absent: all. With one, the last place is for who holds none
   */
  constructor(args: { limit: number; queueLimit: number; full: string; accountLimit?: number }) {
    this.#limit = args.limit;
    this.#accountLimit = args.accountLimit ?? args.limit;
    this.#secondLimit = args.accountLimit === undefined ? args.limit : args.limit - 1;
    this.#queueLimit = args.queueLimit;
    this.#full = args.full;
  }

  /** Whether there is nothing left, for anybody. */
  get exhausted(): boolean {
    return this.#held >= this.#limit;
  }

  get waiters(): number {
    return this.#waiters;
  }

  waitsFor(account: string): boolean {
    return this.#waiting.has(account);
  }

  /** Runs work in its turn. Rejects like `take` when it does not begin. */
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

  /**
   * Resolves with what gives the turn back, which does no harm when it is called again. Rejects with 503 when too many
   * wait, and with the signal's reason when it is aborted first.
   * @param account absent: those without one are as one account
   */
  async take(signal: AbortSignal | undefined, account = ''): Promise<() => void> {
    signal?.throwIfAborted();
    const turn = this.tryTake(account);
    if (turn !== null) return turn;
    await this.#wait(signal, account);
    return this.#turn(account);
  }

  /** The same when there is a turn to be had at once, and null otherwise. */
  tryTake(account = ''): (() => void) | null {
    if (this.exhausted || !this.#mayHold(account)) return null;
    this.#hold(account);
    return this.#turn(account);
  }

  /** Rejects all who wait. */
  failAll(error: Error): void {
    for (const waiters of [...this.#waiting.values()]) for (const { fail } of [...waiters]) fail(error);
  }

  #mayHold(account: string): boolean {
    const own = this.#heldBy.get(account) ?? 0;
    return own < this.#accountLimit && (own === 0 || this.#held < this.#secondLimit);
  }

  #hold(account: string): void {
    this.#held++;
    this.#heldBy.set(account, (this.#heldBy.get(account) ?? 0) + 1);
  }

  #turn(account: string): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#held--;
      const left = (this.#heldBy.get(account) as number) - 1;
      if (left > 0) this.#heldBy.set(account, left);
      else this.#heldBy.delete(account);
      this.#serve();
    };
  }

  /** The next in line takes over the place that has become free. */
  #serve(): void {
    for (const [account, waiters] of this.#waiting) {
      if (!this.#mayHold(account)) continue;
      const next = waiters[0] as Waiter;
      this.#leave(account, next);
      if (waiters.length > 0) {
        this.#waiting.delete(account);
        this.#waiting.set(account, waiters);
      }
      this.#hold(account);
      next.go();
      return;
    }
  }

  #leave(account: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(account) as Waiter[];
    waiters.splice(waiters.indexOf(waiter), 1);
    if (waiters.length === 0) this.#waiting.delete(account);
    this.#waiters--;
  }

  #wait(signal: AbortSignal | undefined, account: string): Promise<void> {
    const own = this.#waiting.get(account)?.length ?? 0;
    // one account does not take the queue from the others
    const share = account === '' ? this.#queueLimit : Math.ceil(this.#queueLimit / 2);
    if (this.#waiters >= this.#queueLimit || own >= share) throw overloaded(this.#full);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.fail(signal?.reason as Error);
      const waiter: Waiter = {
        go: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        fail: (error) => {
          signal?.removeEventListener('abort', onAbort);
          this.#leave(account, waiter);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const waiters = this.#waiting.get(account);
      if (waiters === undefined) this.#waiting.set(account, [waiter]);
      else waiters.push(waiter);
      this.#waiters++;
    });
  }
}
