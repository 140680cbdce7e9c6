import { overloaded } from '../../common/errors/catalogue.ts';

/** Lets a bounded number of pieces of work run at once; the others wait in turn, also a bounded number. */
export class Semaphore {
  readonly #limit: number;
  readonly #queueLimit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number, queueLimit: number) {
    this.#limit = limit;
    this.#queueLimit = queueLimit;
  }

  /** Rejects with 503 when too many wait, and with the signal's reason when it is aborted before the work began. */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    if (this.#running < this.#limit) this.#running++;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // whoever is next takes over this place
      if (next === undefined) this.#running--;
      else next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#queueLimit) throw overloaded('too many values wait to be hashed');
    return new Promise((resolve, reject) => {
      const take = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(take);
    });
  }
}
