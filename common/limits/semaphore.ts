import { overloaded } from '../errors/catalogue.ts';

/** Lets a bounded number hold something at once; the others wait in turn, also a bounded number. */
export class Semaphore {
  readonly #limit: number;
  readonly #queueLimit: number;
  readonly #full: string;
  readonly #waiting: (() => void)[] = [];
  #held = 0;

  /** @param args.full what the 503 says when too many wait */
  constructor(args: { limit: number; queueLimit: number; full: string }) {
    this.#limit = args.limit;
    this.#queueLimit = args.queueLimit;
    this.#full = args.full;
  }

  /** Runs work in its turn. Rejects like `take` when it does not begin. */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const release = await this.take(signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * Resolves with what gives the turn back, which does no harm when it is called again. Rejects with 503 when too many
   * wait, and with the signal's reason when it is aborted first.
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const turn = this.tryTake();
    if (turn !== null) return turn;
    await this.#wait(signal);
    return this.#turn();
  }

  /** The same when there is a turn to be had at once, and null otherwise. */
  tryTake(): (() => void) | null {
    if (this.#held >= this.#limit) return null;
    this.#held++;
    return this.#turn();
  }

  #turn(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.#waiting.shift();
      // whoever is next takes over this place
      if (next === undefined) this.#held--;
      else next();
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#queueLimit) throw overloaded(this.#full);
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(go);
    });
  }
}
