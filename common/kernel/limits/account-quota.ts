import { LRUCache } from 'lru-cache';
import { upTo } from './up-to.ts';

const rememberedAccounts = 10_000;
/** How long the store's answer is used, by default. Milliseconds, like the others. */
const usualLifetime = 10_000;
/** Deadline of a query in the background, the shortest pause after it, and that pause as a multiple of its duration. */
const backgroundTimeout = 60_000;
const leastPause = 2000;
const pauseFactor = 50;
const never = Number.NEGATIVE_INFINITY;

/** Objects of one kind, and their bytes. */
export interface Amount {
  readonly objects: number;
  readonly bytes: number;
}

class Sum {
  /** The store's last answer minus `stored` when that query began. Negative after removals. */
  others = 0;
  /** What this process has stored, and is about to store. */
  claimed = 0;
  stored = 0;

  get all(): number {
    return this.others + this.claimed;
  }
}

/** An account's usage as this process knows it. */
export class Tally {
  readonly objects = new Sum();
  readonly bytes = new Sum();
  /** When the query for the last answer began. */
  askedAt = never;
  /** Time of the last removal: an earlier answer may be too high. */
  freedAt = never;
  /** The query in the background, and when the next one may begin. */
  asking: Promise<void> | null = null;
  nextAsk = never;

  /** Whether the store has ever answered. */
  get isKnown(): boolean {
    return this.askedAt !== never;
  }

  /** Counts what is about to be stored. Negative: takes back a claim. */
  claim(objects: number, bytes: number): void {
    this.objects.claimed += objects;
    this.bytes.claimed += bytes;
  }

  /** Reports that this part of the claims is stored: the next query's answer includes it. */
  store(objects: number, bytes: number): void {
    this.objects.stored += objects;
    this.bytes.stored += bytes;
  }
}

export interface AccountQuotaOptions {
  /** Absent: no limit. */
  readonly limits: Partial<Amount>;
  /** Queries the store. */
  readonly ask: (account: string, signal: AbortSignal) => Promise<Partial<Amount>>;
  /** The error when a limit is exceeded. */
  readonly full: (limit: number, of: keyof Amount) => Error;
  /** Milliseconds for which an answer is used. What other processes store counts only afterwards. */
  readonly lifetime?: number | undefined;
  readonly now?: (() => number) | undefined;
}

/**
 * A limit on what an account may store. It adds what this process stored to the store's last answer. A single process
 * counts exactly. Several may admit too much until they query the store again.
 */
export class AccountQuota {
  readonly #options: AccountQuotaOptions;
  readonly #limits: Amount;
  readonly #now: () => number;
  readonly #tallies = new LRUCache<string, Tally>({ ...upTo(rememberedAccounts) });

  constructor(options: AccountQuotaOptions) {
    this.#options = options;
    const { objects = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY } = options.limits;
    this.#limits = { objects, bytes };
    this.#now = options.now ?? (() => performance.now());
  }

  /** Throws when this amount would exceed the account's quota. */
  async check(account: string, objects: number, bytes: number, signal: AbortSignal): Promise<void> {
    await this.#admit(account, [objects, bytes], false, signal);
  }

  /** Checks and counts it. The caller reports to the tally what it stored, and takes back what it will not store. */
  claim(account: string, objects: number, bytes: number, signal: AbortSignal): Promise<Tally> {
    return this.#admit(account, [objects, bytes], true, signal);
  }

  /** Counts an object before it is created. It counts until the next query, even if it is never created. */
  async add(account: string, signal: AbortSignal): Promise<void> {
    const tally = await this.claim(account, 1, 0, signal);
    tally.store(1, 0);
  }

  /** Notes a removal. @param objects how many; absent: unknown, so the store is queried before the next refusal */
  freed(account: string, objects?: number): void {
    const tally = this.#tallies.get(account);
    if (tally === undefined) return;
    if (objects === undefined) tally.freedAt = this.#now();
    else tally.objects.others -= Math.min(objects, tally.objects.all);
  }

  tallyOf(account: string): Tally {
    const known = this.#tallies.get(account);
    if (known !== undefined) return known;
    const tally = new Tally();
    this.#tallies.set(account, tally);
    return tally;
  }

  /** Whether the store's answer is missing or has expired. */
  isOld({ askedAt }: Tally): boolean {
    return this.#now() - askedAt >= (this.#options.lifetime ?? usualLifetime);
  }

  fits(tally: Tally, objects: number, bytes: number): boolean {
    return this.#exceeded(tally, objects, bytes) === null;
  }

  /** The error for this additional amount; null: there is room. */
  refusal(tally: Tally, objects: number, bytes: number): Error | null {
    const of = this.#exceeded(tally, objects, bytes);
    return of === null ? null : this.#options.full(this.#limits[of], of);
  }

  /** Queries the store while writes continue. One query at a time, with a pause after each. */
  askInBackground(account: string, tally: Tally, onError: (error: unknown) => void): void {
    const began = this.#now();
    if (tally.asking !== null || began < tally.nextAsk) return;
    tally.asking = this.#ask(account, tally, AbortSignal.timeout(backgroundTimeout))
      .catch(onError)
      .finally(() => {
        const ended = this.#now();
        tally.asking = null;
        tally.nextAsk = ended + Math.max(leastPause, pauseFactor * (ended - began));
      });
  }

  async #admit(
    account: string,
    [objects, bytes]: readonly [number, number],
    claims: boolean,
    signal: AbortSignal,
  ): Promise<Tally> {
    const tally = this.tallyOf(account);
    if (this.isOld(tally)) await this.#ask(account, tally, signal);
    if (tally.askedAt <= tally.freedAt && !this.fits(tally, objects, bytes))
      await this.#ask(account, tally, signal);
    // nothing awaits from here to the claim, so no other claim can take the same room
    const refusal = this.refusal(tally, objects, bytes);
    if (refusal !== null) throw refusal;
    if (claims) tally.claim(objects, bytes);
    return tally;
  }

  #exceeded(tally: Tally, objects: number, bytes: number): keyof Amount | null {
    // an object that is already counted is not refused for the number of objects
    if (objects > 0 && tally.objects.all + objects > this.#limits.objects) return 'objects';
    return tally.bytes.all + bytes > this.#limits.bytes ? 'bytes' : null;
  }

  async #ask(account: string, tally: Tally, signal: AbortSignal): Promise<void> {
    const askedAt = this.#now();
    // the store's answer includes these
    const objects = tally.objects.stored;
    const bytes = tally.bytes.stored;
    const answer = await this.#options.ask(account, signal);
    if (askedAt < tally.askedAt) return;
    tally.askedAt = askedAt;
    tally.objects.others = (answer.objects ?? 0) - objects;
    tally.bytes.others = (answer.bytes ?? 0) - bytes;
  }
}
