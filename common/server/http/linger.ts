import type { Exchange } from './exchange.ts';

interface LingerLimits {
  /** Most bytes of the body that are still received. */
  readonly bytes: number;
  readonly milliseconds: number;
}

/** For a body with a distant or unknown end: enough for clients that read while they write. */
export const shortLinger: LingerLimits = { bytes: 256 * 1024, milliseconds: 2000 };
/**
 * For a body whose declared rest fits: clients such as wget, Java's HttpURLConnection and httpx only read after they have
 * written everything, so all of it is received and dropped.
 */
const longLinger: LingerLimits = { bytes: 256 * 1024 * 1024, milliseconds: 30_000 };
/** Most connections in a long linger. */
const maxLong = 64;
/** Least bytes a second in a long linger. */
const minRate = 1024 * 1024;
const lookMilliseconds = 20;
/** After a complete request and its answer: as long as uWebSockets.js keeps an idle connection. */
const untilClosed = 10_000;

/**
 * Lingering close, for clients that get an answer while they are still sending: it is written in full, then arriving
 * bytes are dropped, up to a limit, and only then the connection is closed. Closing at once would reset the connection
 * and could take the answer with it (RFC 9112 section 9.6).
 */
export class Linger {
  #long = 0;
  #hurried = false;

  /** The server is about to stop: no more long lingers. */
  hurry(): void {
    this.#hurried = true;
  }

  /**
   * Closes the connection of an answer that was written but not ended. Until it is ended, uWebSockets.js takes further
   * bytes for a second request that came too early, and closes. A client that honours `Connection: close` closes first.
   */
  async close(exchange: Exchange, status: number): Promise<void> {
    const { body } = exchange;
    // resume a paused socket, so that the client's close is noticed
    body.discard();
    if (body.complete) {
      const timer = setTimeout(() => exchange.res.close(), untilClosed);
      exchange.onClosed = () => clearTimeout(timer);
      return;
    }
    const rest =
      body.contentLength === undefined ? Number.POSITIVE_INFINITY : body.contentLength - body.received;
    const long = status !== 408 && rest <= longLinger.bytes && this.#long < maxLong;
    if (long) this.#long++;
    await this.#drop(exchange, long);
    if (long) this.#long--;
    if (!exchange.aborted) exchange.res.close();
  }

  /** Resolves when the body has ended, the client is gone, or enough bytes were dropped. */
  #drop(exchange: Exchange, long: boolean): Promise<void> {
    const { body } = exchange;
    const before = body.received;
    const started = performance.now();
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const elapsed = performance.now() - started;
        const dropped = body.received - before;
        const steady =
          long && !this.#hurried && dropped * 1000 >= minRate * (elapsed - shortLinger.milliseconds);
        const limits = steady ? longLinger : shortLinger;
        if (exchange.aborted || body.complete || elapsed > limits.milliseconds) {
          clearInterval(timer);
          resolve();
        } else if (dropped > limits.bytes) body.pauseSocket();
      }, lookMilliseconds);
    });
  }
}
