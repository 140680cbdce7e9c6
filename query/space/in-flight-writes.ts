import { overloaded } from '../../common/errors/catalogue.ts';
import type { Handler, HttpRequest } from '../../common/http/http-types.ts';

interface Lease {
  spaceId: string | null;
}

/**
 * The requests that write to record spaces at the moment. A request that switches a rule on waits for the writes that
 * began without it.
 */
export class InFlightWrites {
  readonly #leases = new Map<HttpRequest, Lease>();
  readonly #spaces = new Map<string, { count: number; readonly idle: (() => void)[] }>();

  /** Lets a handler's requests be counted, from `enter` to its answer. */
  tracked(handler: Handler): Handler {
    return async (request) => {
      const lease: Lease = { spaceId: null };
      this.#leases.set(request, lease);
      try {
        return await handler(request);
      } finally {
        this.#leases.delete(request);
        if (lease.spaceId !== null) this.#leave(lease.spaceId);
      }
    };
  }

  /** The request may write to the space from now on. */
  enter(request: HttpRequest, spaceId: string): void {
    const lease = this.#leases.get(request);
    // a request that was given up opens its space for nobody
    if (lease === undefined || lease.spaceId !== null) return;
    lease.spaceId = spaceId;
    const space = this.#spaces.get(spaceId);
    if (space === undefined) this.#spaces.set(spaceId, { count: 1, idle: [] });
    else space.count++;
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

  #leave(spaceId: string): void {
    const space = this.#spaces.get(spaceId);
    if (space === undefined || --space.count > 0) return;
    this.#spaces.delete(spaceId);
    for (const wake of space.idle) wake();
  }
}
