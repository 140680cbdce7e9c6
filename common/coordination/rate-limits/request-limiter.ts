import { LRUCache } from 'lru-cache';
import type { RequestLimits } from '#kernel/config/settings.ts';
import { rateLimited } from '#kernel/errors/catalogue.ts';
import { type Admission, type SharedLimiter, unsharedLimiter } from './shared-limiter.ts';

/** A token bucket: it fills at the rate, up to the burst. */
interface Bucket {
  requests: number;
  filledAt: number;
  /** The shared limiter refuses the sender until then. */
  refusedUntil: number;
}

/** Most remembered senders. A forgotten sender has a full bucket, so the limit gets looser, never stricter. */
const rememberedSenders = 65_536;
/** How long a sender with too many requests in flight should wait: by this process's count, and by the shared count. Milliseconds. */
const inFlightWait = { own: 1000, shared: 100 };
/** How often the requests in flight here are reported to other processes. Milliseconds. */
const reportEvery = 15_000;

export type Limiter = Pick<RequestLimiter, 'admit' | 'close'>;

/** For senders without a limit. */
export const unlimited: Limiter = { admit: () => undefined, close() {} };

/** Limits the requests of each sender, such as an access token or an address. */
export class RequestLimiter {
  readonly #limits: RequestLimits;
  readonly #shared: SharedLimiter;
  readonly #now: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: rememberedSenders });
  readonly #inFlight = new Map<string, number>();
  readonly #reporter: NodeJS.Timeout | undefined;

  /** @param args.now milliseconds of a monotonic clock */
  constructor(args: { limits: RequestLimits; shared?: SharedLimiter; now?: () => number }) {
    const { limits, shared = unsharedLimiter, now = () => performance.now() } = args;
    this.#limits = limits;
    this.#shared = shared;
    this.#now = now;
    if (shared.wantsReports && limits.inFlight > 0) {
      this.#reporter = setInterval(() => this.#report(), reportEvery).unref();
    }
  }

  /**
   * Counts a request, or throws 429. Returns a promise only if the shared limiter has to decide; it rejects with 429.
   * @param onOver registers a function to call when the request is over
   */
  admit(sender: string, onOver: (end: () => void) => void): Promise<void> | undefined {
    const wait = this.#take(sender);
    if (wait > 0) throw rateLimited(wait);
    const end = this.#begin(sender);
    onOver(end);
    const answer = this.#shared.admit(sender, this.#inFlight.get(sender) ?? 0);
    return answer === 'admitted' ? undefined : this.#followOthers(sender, answer, end);
  }

  close(): void {
    clearInterval(this.#reporter);
  }

  /** Counts a request and answers 0, or counts nothing and answers the milliseconds until one would be admitted. */
  #take(sender: string): number {
    const { rate, burst, inFlight } = this.#limits;
    const now = this.#now();
    const bucket = this.#buckets.get(sender);
    if (bucket !== undefined && bucket.refusedUntil > now) return bucket.refusedUntil - now;
    if (inFlight > 0 && (this.#inFlight.get(sender) ?? 0) >= inFlight) return inFlightWait.own;
    if (rate === 0) return 0;
    const filled = bucket ?? { requests: burst, filledAt: now, refusedUntil: 0 };
    filled.requests = Math.min(burst, filled.requests + ((now - filled.filledAt) * rate) / 1000);
    filled.filledAt = now;
    if (bucket === undefined) this.#buckets.set(sender, filled);
    if (filled.requests < 1) return ((1 - filled.requests) * 1000) / rate;
    filled.requests--;
    return 0;
  }

  /** @returns a function to call once when the request is over */
  #begin(sender: string): () => void {
    if (this.#limits.inFlight === 0) return () => {};
    this.#inFlight.set(sender, (this.#inFlight.get(sender) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (this.#inFlight.get(sender) as number) - 1;
      if (left > 0) this.#inFlight.set(sender, left);
      else this.#inFlight.delete(sender);
      this.#shared.report(sender, left);
    };
  }

  async #followOthers(sender: string, asked: Admission | Promise<Admission>, end: () => void): Promise<void> {
    const answer = await asked;
    if (answer === 'admitted') return;
    end();
    const wait = answer === 'in-flight' ? inFlightWait.shared : answer.wait;
    // limits how often a refused flood asks Redis
    const refusedUntil = this.#now() + wait;
    const bucket = this.#buckets.get(sender);
    if (bucket !== undefined) bucket.refusedUntil = refusedUntil;
    else this.#buckets.set(sender, { requests: 0, filledAt: this.#now(), refusedUntil });
    throw rateLimited(wait);
  }

  #report(): void {
    for (const [sender, count] of this.#inFlight) this.#shared.report(sender, count);
  }
}
