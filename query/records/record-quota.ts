import { LRUCache } from 'lru-cache';
import { quotaExceeded } from '#kernel/errors/catalogue.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Assignment } from './sql/update-sql.ts';
import type { RecordWrites } from './store/record-store.ts';

/** Bytes that a record counts beside its values: its id, its times, and the row itself. */
export const recordOverhead = 64;

/** Milliseconds after which an account that writes is counted again, with the writes of other processes. */
const countEvery = 60_000;
/** Counting reads all values of the account. Least pause after it, in milliseconds, and as a multiple of its time. */
const leastPause = 2000;
const pauseFactor = 50;
/** Milliseconds that a write waits for a count that decides. A longer count continues in the background. */
const firstWait = 1000;
const rememberedAccounts = 10_000;

interface Account {
  /** The store's answer; null: not yet. */
  counted: number | null;
  /** Written since it began to count, here. */
  written: number;
  /** The same of the count under way. */
  writtenMeanwhile: number;
  underWay: number;
  counting: Promise<void> | null;
  countedAt: number;
  nextCount: number;
}

interface Deps {
  readonly limit: number;
  /** Asks the store. */
  readonly count: (account: string) => Promise<number>;
  readonly log: Pick<Log, 'warn'>;
  readonly now?: () => number;
}

/**
 * An account's quota of records. This process counts its own writes; the store is asked at first, when there seems to be
 * no room, and once a minute. Values that an update replaces count until then.
 */
export class RecordQuota {
  readonly #deps: Deps;
  readonly #now: () => number;
  readonly #accounts = new LRUCache<string, Account>({ ...upTo(rememberedAccounts) });

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  /** Does a write that adds at most `bytes`. Throws 403 when the quota has no room for them. */
  async write<Result>(owner: string, bytes: number, work: () => Promise<Result>): Promise<Result> {
    const account = this.#account(owner);
    const old = this.#now() - account.countedAt >= countEvery;
    if (old || !this.#fits(account, bytes)) this.#beginCount(owner, account);
    // nobody waits for a better figure than one that leaves room
    const uncertain = account.counted === null || !this.#fits(account, bytes);
    if (uncertain && account.counting !== null) await settledWithin(account.counting, firstWait);
    if (!this.#fits(account, bytes)) throw quotaExceeded(`${this.#deps.limit} bytes of records`);
    account.underWay += bytes;
    try {
      const result = await work();
      account.written += bytes;
      account.writtenMeanwhile += bytes;
      return result;
    } finally {
      account.underWay -= bytes;
    }
  }

  #fits({ counted, written, underWay }: Account, bytes: number): boolean {
    return (counted ?? 0) + written + underWay + bytes <= this.#deps.limit;
  }

  #account(owner: string): Account {
    const known = this.#accounts.get(owner);
    if (known !== undefined) return known;
    const never = Number.NEGATIVE_INFINITY;
    const account: Account = {
      ...{ counted: null, written: 0, writtenMeanwhile: 0, underWay: 0 },
      ...{ counting: null, countedAt: never, nextCount: never },
    };
    this.#accounts.set(owner, account);
    return account;
  }

  #beginCount(owner: string, account: Account): void {
    if (account.counting !== null || this.#now() < account.nextCount) return;
    account.counting = this.#recount(owner, account).finally(() => {
      account.counting = null;
    });
  }

  async #recount(owner: string, account: Account): Promise<void> {
    const began = this.#now();
    account.writtenMeanwhile = 0;
    try {
      account.counted = await this.#deps.count(owner);
      account.written = account.writtenMeanwhile;
      account.countedAt = began;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the records of an account could not be counted for its quota');
    }
    const ended = this.#now();
    account.nextCount = ended + Math.max(leastPause, pauseFactor * (ended - began));
  }
}

function assignedBytes(assignments: readonly Assignment[]): number {
  let bytes = 0;
  for (const { value } of assignments) if (value !== null) bytes += Buffer.byteLength(String(value));
  return bytes;
}

export function quotaWrites(writes: RecordWrites, quota: RecordQuota): RecordWrites {
  return {
    insert(added) {
      const { space, records } = added;
      const { fields } = space.structure;
      let bytes = records.length * recordOverhead;
      for (const { values } of records) {
        for (const [index, value] of values.entries()) {
          if (value !== null && fields[index]?.hashed === false) bytes += Buffer.byteLength(String(value));
        }
      }
      return quota.write(space.ownerId, bytes, () => writes.insert(added));
    },
    change(change) {
      const { steps, space } = change;
      // they are alike: the same change of several records, or increments of one
      const assignments = steps[0]?.assignments ?? null;
      if (assignments === null) return writes.change(change);
      const bytes = steps.length * assignedBytes(assignments);
      return quota.write(space.ownerId, bytes, () => writes.change(change));
    },
  };
}
