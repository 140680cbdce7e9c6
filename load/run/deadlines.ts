/** How often deadlines are looked at, in milliseconds. */
const interval = 100;

/** The error of a request that took too long. */
export class RequestTimeout extends Error {
  readonly code = 'timeout';

  constructor(milliseconds: number) {
    super(`no answer came within ${milliseconds} ms`);
  }
}

/**
 * One signal a request, aborted when the request has taken too long, or with all others when the run is aborted. A timer for each
 * request would cost more than sending it, so one timer checks the oldest.
 */
export class Deadlines {
  readonly #timeout: number;
  /** Requests with the same time limit end in the order in which they began. */
  readonly #running = new Map<AbortController, number>();
  /** Making a controller costs more than all else of a request, so each serves many, one after another. */
  readonly #free: AbortController[] = [];
  readonly #timer: NodeJS.Timeout;

  /** @param timeout of each request, in milliseconds */
  constructor(timeout: number) {
    this.#timeout = timeout;
    this.#timer = setInterval(() => this.#check(), interval);
  }

  begin(now: number): AbortController {
    const controller = this.#free.pop() ?? new AbortController();
    this.#running.set(controller, now + this.#timeout);
    return controller;
  }

  /** The request has ended, and listens to its signal no more. */
  end(controller: AbortController): void {
    this.#running.delete(controller);
    if (!controller.signal.aborted) this.#free.push(controller);
  }

  /** Aborts all requests that are under way. */
  abort(reason: Error): void {
    for (const controller of [...this.#running.keys()]) controller.abort(reason);
    this.#running.clear();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    for (const [controller, deadline] of this.#running) {
      if (deadline > now) return;
      this.#running.delete(controller);
      controller.abort(new RequestTimeout(this.#timeout));
    }
  }
}
