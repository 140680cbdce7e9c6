import { LRUCache } from 'lru-cache';
import { upTo } from './up-to.ts';

const rememberedFor = 10_000;
const rememberedAccounts = 10_000;

/** A limit on how many objects of one kind an account has. Those of other processes count after a while. */
export class CountLimit {
  readonly #limit: number;
  readonly #count: (account: string, signal: AbortSignal) => Promise<number>;
  readonly #full: (limit: number) => Error;
  readonly #counts = new LRUCache<string, { count: number }>({
    ...upTo(rememberedAccounts),
    ttl: rememberedFor,
  });

  /** @param args.count asks the store @param args.full the error beyond the limit */
  constructor(args: {
    limit: number;
    count: (account: string, signal: AbortSignal) => Promise<number>;
    full: (limit: number) => Error;
  }) {
    this.#limit = args.limit;
    this.#count = args.count;
    this.#full = args.full;
  }

  /** To be called before an object is made. */
  async admit(account: string, signal: AbortSignal): Promise<void> {
    const known = this.#counts.get(account) ?? (await this.#ask(account, signal));
    if (known.count >= this.#limit) throw this.#full(this.#limit);
    known.count++;
  }

  /** Notes that an account has fewer. @param some how many; absent: unknown */
  removed(account: string, some?: number): void {
    const known = this.#counts.get(account);
    if (some === undefined) this.#counts.delete(account);
    else if (known !== undefined) known.count = Math.max(0, known.count - some);
  }

  async #ask(account: string, signal: AbortSignal): Promise<{ count: number }> {
    const count = await this.#count(account, signal);
    // another request may have asked meanwhile, and been admitted
    const known = this.#counts.get(account) ?? { count };
    this.#counts.set(account, known, { noUpdateTTL: true });
    return known;
  }
}
