import { setTimeout as sleep } from 'node:timers/promises';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import { type SharedLeases, UploadLeases } from '../resumable/upload-leases.ts';

/** How long a request waits for another that ends the same upload. Milliseconds, like the others. */
const patience = 20_000;
/** Gateways that ask for the same lease at once try again. */
const mostTries = 5;
const retryPause = 400;

/** Lets requests that end the same upload run one after the other, in this gateway and in others. */
export class UploadTurns {
  readonly #leases: UploadLeases;
  /** The end of the last request, by upload. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(leases: SharedLeases) {
    this.#leases = new UploadLeases(leases);
  }

  /** Throws 503 when the requests before take too long. */
  run<Result>(upload: string, work: () => Promise<Result>): Promise<Result> {
    const turn = this.#after(this.#last.get(upload), () => this.#leased(upload, work));
    const over = turn
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        if (this.#last.get(upload) === over) this.#last.delete(upload);
      });
    this.#last.set(upload, over);
    return turn;
  }

  async #after<Result>(before: Promise<void> | undefined, work: () => Promise<Result>): Promise<Result> {
    if (before !== undefined && !(await settledWithin(before, patience)))
      throw overloaded('another request is completing this upload');
    return work();
  }

  async #leased<Result>(upload: string, work: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      const lease = await this.#leases.take(upload);
      try {
        if (await lease.pin()) return await work();
      } finally {
        lease.release();
      }
      // another gateway took it over in between, and may have ended the upload by now
      if (tries === mostTries) throw overloaded('other requests are completing this upload');
      await sleep(Math.random() * retryPause);
    }
  }
}
