import { AccountShare } from './account-share.ts';
import type { MemoryLease } from './memory-lease.ts';

/** Limit of an account, as a share of the memory that other accounts leave, so that a new account always finds room. */
const accountShare = 7 / 8;

/** The scheduler of upload memory: the accounts with uploads, and which upload continues next. */
export class AccountShares implements Iterable<AccountShare<MemoryLease>> {
  readonly #bytes: number;
  readonly #shares = new Map<string, AccountShare<MemoryLease>>();
  /** Accounts with waiting uploads, the least recently served first. */
  readonly #waiting = new Set<AccountShare<MemoryLease>>();

  /** @param bytes of the shared memory */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Number of waiting uploads. */
  get waiting(): number {
    let waiting = 0;
    for (const { queues } of this.#waiting) waiting += queues.size;
    return waiting;
  }

  get contended(): boolean {
    return this.#waiting.size > 0;
  }

  [Symbol.iterator](): Iterator<AccountShare<MemoryLease>> {
    return [...this.#shares.values()].values();
  }

  /** The share of an account, which exists while the account has uploads. */
  of(account: string): AccountShare<MemoryLease> {
    const share = this.#shares.get(account) ?? new AccountShare<MemoryLease>(account);
    this.#shares.set(account, share);
    return share;
  }

  ended({ account }: MemoryLease): void {
    if (account.leases.size === 0) this.#shares.delete(account.name);
  }

  enqueue(lease: MemoryLease): void {
    lease.queue = lease.account.queues.add(lease);
    this.#waiting.add(lease.account);
  }

  dequeue(lease: MemoryLease): void {
    lease.queue?.delete(lease);
    lease.queue = null;
    if (lease.account.queues.size === 0) this.#waiting.delete(lease.account);
  }

  /** Whether uploads of any other account wait. */
  othersWait(account: AccountShare<MemoryLease>): boolean {
    return this.#waiting.size > (this.#waiting.has(account) ? 1 : 0);
  }

  /** The account that gathers the most. */
  get largest(): AccountShare<MemoryLease> | undefined {
    let largest: AccountShare<MemoryLease> | undefined;
    for (const share of this.#shares.values()) {
      if (largest === undefined || share.gatheredBytes > largest.gatheredBytes) largest = share;
    }
    return largest;
  }

  /** Bytes that an account may gather. @param gathered bytes that all accounts gather, including their claims */
  limitOf({ gatheredBytes }: AccountShare<MemoryLease>, gathered: number): number {
    return (this.#bytes - gathered + gatheredBytes) * accountShare;
  }

  /** The next upload: of the account that holds least among those that may gather more. */
  next(gathered: number): MemoryLease | undefined {
    let next: MemoryLease | undefined;
    for (const account of this.#waiting) {
      if (next !== undefined && account.heldBytes >= next.account.heldBytes) continue;
      next = account.next(this.limitOf(account, gathered)) ?? next;
    }
    return next;
  }

  /** Notes that an upload continues, so that its account comes last among accounts that hold the same. */
  served({ account, queue }: MemoryLease): void {
    if (queue !== null) account.queues.served(queue);
    this.#waiting.delete(account);
    this.#waiting.add(account);
  }
}
