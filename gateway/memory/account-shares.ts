import { AccountShare, type MemoryLease } from './memory-lease.ts';

/** Limit of an account, as a share of the bytes that the others leave: a new account always finds room. */
const accountShare = 7 / 8;

/** The scheduler of upload memory: the accounts with uploads, and which upload continues next. */
export class AccountShares implements Iterable<AccountShare> {
  readonly #bytes: number;
  readonly #shares = new Map<string, AccountShare>();
  /** Accounts with uploads that wait, the least recently served first. */
  readonly #waiting = new Set<AccountShare>();

  /** @param bytes of the memory that they share */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Uploads that wait. */
  get waiting(): number {
    let waiting = 0;
    for (const { line } of this.#waiting) waiting += line.size;
    return waiting;
  }

  get contended(): boolean {
    return this.#waiting.size > 0;
  }

  [Symbol.iterator](): Iterator<AccountShare> {
    return [...this.#shares.values()].values();
  }

  /** The share of an account, which has one while it has uploads. */
  of(account: string): AccountShare {
    const share = this.#shares.get(account) ?? new AccountShare(account);
    this.#shares.set(account, share);
    return share;
  }

  ended({ account }: MemoryLease): void {
    if (account.leases.size === 0) this.#shares.delete(account.name);
  }

  joinLine(lease: MemoryLease): void {
    lease.line = lease.account.line.add(lease);
    this.#waiting.add(lease.account);
  }

  leaveLine(lease: MemoryLease): void {
    lease.line?.delete(lease);
    lease.line = null;
    if (lease.account.line.size === 0) this.#waiting.delete(lease.account);
  }

  /** Whether an account's uploads wait, beside those of this one. */
  othersWait(account: AccountShare): boolean {
    return this.#waiting.size > (this.#waiting.has(account) ? 1 : 0);
  }

  /** The account that gathers most. */
  get largest(): AccountShare | undefined {
    let largest: AccountShare | undefined;
    for (const share of this.#shares.values()) {
      if (largest === undefined || share.gathering > largest.gathering) largest = share;
    }
    return largest;
  }

  /** Bytes that an account may gather. @param gathered bytes of all accounts, with those that they may still take */
  limitOf({ gathering }: AccountShare, gathered: number): number {
    return (this.#bytes - gathered + gathering) * accountShare;
  }

  /** The next upload of the account that holds least, among the accounts that may gather more. */
  next(gathered: number): MemoryLease | undefined {
    let next: MemoryLease | undefined;
    for (const account of this.#waiting) {
      if (next !== undefined && account.held >= next.account.held) continue;
      next = account.next(this.limitOf(account, gathered)) ?? next;
    }
    return next;
  }

  /** Notes that an upload continues: among accounts that hold the same, its own comes last. */
  served({ account, line }: MemoryLease): void {
    if (line !== null) account.line.served(line);
    this.#waiting.delete(account);
    this.#waiting.add(account);
  }
}
