import { overloaded } from '#kernel/errors/catalogue.ts';
import type { Handler, HttpRequest } from '#server/http/http-types.ts';

/**
 * The requests that are writing to record spaces. A request that switches a rule on waits for the writes that began
 * without it.
 */
export class InFlightWrites {
  /** Requests with running handlers, each with the space that it entered. */
  readonly #requests = new Map<HttpRequest, string | null>();
  readonly #spaces = new Map<string, { count: number; readonly idle: (() => void)[] }>();

  /** Wraps a handler, so that its requests count from `enter` until their answer. */
  tracked(handler: Handler): Handler {
    return async (request) => {
      this.#requests.set(request, null);
      try {
        return await handler(request);
      } finally {
        const entered = this.#requests.get(request) ?? null;
        this.#requests.delete(request);
        if (entered !== null) this.#leave(entered);
      }
    };
  }

  /** The request may write to the space from now on. */
  enter(request: HttpRequest, spaceId: string): void {
    // the request has ended, or has entered already
    if (this.#requests.get(request) !== null) return;
    this.#requests.set(request, spaceId);
    this.#count(spaceId);
  }

  /** Counts work outside a request as a write. */
  async counted<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    this.#count(spaceId);
    try {
      return await work();
    } finally {
      this.#leave(spaceId);
    }
  }

  /** Resolves when no request writes to the space. @param limit milliseconds, after which it rejects with 503 */
  idle(spaceId: string, limit: number): Promise<void> {
    const space = this.#spaces.get(spaceId);
    if (space === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(overloaded('a write to the record space takes too long')), limit);
      space.idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #count(spaceId: string): void {
    const space = this.#spaces.get(spaceId);
    if (space === undefined) this.#spaces.set(spaceId, { count: 1, idle: [] });
    else space.count++;
  }

  #leave(spaceId: string): void {
    const space = this.#spaces.get(spaceId);
    if (space === undefined || --space.count > 0) return;
    this.#spaces.delete(spaceId);
    for (const wake of space.idle) wake();
  }
}
