import { deadlineExceeded, requestTimeout } from '#kernel/errors/catalogue.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServerOptions } from './http-types.ts';

export const tickMilliseconds = 250;
/** uWebSockets.js cuts a connection that moves less than 16 KB/s for 10 s; a pause and resume restarts its timer. */
const rearmTicks = 16;

/** Deadlines of requests. It also keeps uWebSockets.js from cutting requests with time left. */
export class Watchdog {
  readonly #deadlines: Pick<HttpServerOptions, 'bodyIdleTimeout' | 'requestTimeout'>;
  #ticks = 0;

  constructor(options: HttpServerOptions) {
    this.#deadlines = options;
  }

  /** Call it every `tickMilliseconds`. */
  tick(active: Iterable<Exchange>): void {
    this.#ticks++;
    const now = performance.now();
    for (const exchange of active) {
      if (exchange.aborted) continue;
      this.#watch(exchange, now);
      const flows = exchange.body.reading || exchange.writing;
      if (this.#ticks % rearmTicks === 0 && !exchange.aborted && flows) {
        exchange.res.pause();
        exchange.res.resume();
      }
    }
  }

  #watch(exchange: Exchange, now: number): void {
    const { body } = exchange;
    // called in any case, because time with a paused socket must not count for the rate
    const slow = body.isTooSlow(now);
    if (exchange.writing) {
      if (now - exchange.lastWrite > this.#deadlines.bodyIdleTimeout) exchange.res.close();
    } else if (exchange.headSent) {
      // it lingers, or waits for a source with its own deadlines
    } else if (body.reading) {
      if (now - body.lastActivity > this.#deadlines.bodyIdleTimeout) {
        exchange.giveUp(requestTimeout(`The request body stalled for ${this.#deadlines.bodyIdleTimeout} ms`));
      } else if (slow) {
        exchange.giveUp(requestTimeout('The request body was too slow while others waited for its memory'));
      }
    } else if (!exchange.transfersBytes && now - body.lastActivity > this.#deadlines.requestTimeout) {
      exchange.giveUp(deadlineExceeded(this.#deadlines.requestTimeout));
    }
  }
}
