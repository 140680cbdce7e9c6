import type { Loop, LoopOptions } from './loop.ts';

/** Callers that each send the next request when the last one is answered, after their pause. */
export class ClosedLoop implements Loop {
  readonly #options: LoopOptions;
  readonly #pauses = new Map<NodeJS.Timeout, () => void>();
  readonly #end: NodeJS.Timeout;
  /** Workers that have callers: they send all requests, each every so many-th. */
  readonly #senders: number;
  #next: number;
  #running: number;
  #isStopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
    const { phase, worker, workers, began } = options;
    const concurrency = phase.concurrency ?? 0;
    this.#senders = Math.min(workers, concurrency);
    this.#next = worker;
    this.#running = Math.floor(concurrency / workers) + (worker < concurrency % workers ? 1 : 0);
    this.#end = setTimeout(() => this.stop(), Math.max(0, began + phase.seconds * 1000 - performance.now()));
    // there is nothing to send for callers of a mix of streams
    if (options.runner.isIdle) this.#running = 0;
    for (let caller = this.#running; caller > 0; caller--) this.#call().catch(options.onFailure);
    // the others do not wait for the end of the time
    if (typeof phase.requests === 'number' && worker >= this.#senders) this.stop();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    clearTimeout(this.#end);
    for (const [timer, wake] of this.#pauses) {
      clearTimeout(timer);
      wake();
    }
    this.#options.onStarted(this.#options.first + this.#next);
    if (this.#running === 0) this.#options.onDrained();
  }

  async #call(): Promise<void> {
    const { phase, first, index, runner } = this.#options;
    const last = phase.requests ?? Number.POSITIVE_INFINITY;
    while (!this.#isStopped && this.#next < last) {
      const number = first + this.#next;
      this.#next += this.#senders;
      const now = performance.now();
      const pause = await runner.run(index, number, now, now, 0);
      if (pause > 0 && !this.#isStopped) await this.#pause(pause);
    }
    this.#running--;
    if (this.#running > 0) return;
    if (this.#isStopped) this.#options.onDrained();
    // all requests have been sent
    else this.stop();
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#pauses.delete(timer);
        resolve();
      }, milliseconds);
      this.#pauses.set(timer, resolve);
    });
  }
}
