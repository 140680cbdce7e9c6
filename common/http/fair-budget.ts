import { overloaded } from '../errors/catalogue.ts';

/** What somebody holds of a budget, or waits for. */
export interface Claim {
  /** It is held; before, it waits. */
  readonly granted: boolean;
  /** Gives it back, or waits no more. A second call does nothing. */
  release(): void;
}

interface Entry extends Claim {
  readonly account: string;
  readonly amount: number;
  readonly onGranted: () => void;
  granted: boolean;
}

/**
 * Something of which a process has so much, shared by accounts: none ever holds more than its share, so that however
 * much one of them asks for, the others get theirs. Who finds nothing left waits, in order of arrival; those whose
 * own account has used up its share are passed over.
 */
export class FairBudget {
  readonly #total: number;
  readonly #share: number;
  readonly #queueLimit: number;
  readonly #what: string;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Entry>();
  readonly #waitingOf = new Map<string, number>();
  #used = 0;

  /** @param args.queueLimit how many claims of one account may wait @param args.what it is, for the 503 */
  constructor(args: { total: number; share: number; queueLimit: number; what: string }) {
    this.#total = args.total;
    this.#share = args.share;
    this.#queueLimit = args.queueLimit;
    this.#what = args.what;
  }

  get used(): number {
    return this.#used;
  }

  /** Claims that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Claims an amount, which is held at once or waits. Throws 503 when too many claims of the account wait. */
  claim(account: string, amount: number, onGranted: () => void = () => {}): Claim {
    const entry: Entry = { account, amount, onGranted, granted: false, release: () => this.#release(entry) };
    this.#waiting.add(entry);
    add(this.#waitingOf, account, 1);
    this.#grant(entry);
    if (!entry.granted && (this.#waitingOf.get(account) ?? 0) > this.#queueLimit) {
      entry.release();
      throw overloaded(`too much waits for ${this.#what}`);
    }
    return entry;
  }

  /** The same when it can be held at once; null otherwise. */
  tryClaim(account: string, amount: number): Claim | null {
    const free = !this.#waitingOf.has(account) && this.#fitsShare(account, amount) && this.#fits(amount);
    return free ? this.claim(account, amount) : null;
  }

  /** Whether somebody waits for what this account holds. */
  wantedFrom(account: string): boolean {
    if (this.#waitingOf.has(account)) return true;
    for (const { amount } of this.#waiting) if (!this.#fits(amount)) return true;
    return false;
  }

  #fitsShare(account: string, amount: number): boolean {
    const held = this.#held.get(account) ?? 0;
    // what is larger than a share is let in alone
    return held === 0 || held + amount <= this.#share;
  }

  #fits(amount: number): boolean {
    return this.#used === 0 || this.#used + amount <= this.#total;
  }

  /** @param fresh a claim that is being made: its caller sees that it is granted */
  #grant(fresh?: Entry): void {
    const passedOver = new Set<string>();
    for (const entry of this.#waiting) {
      if (passedOver.has(entry.account)) continue;
      if (!this.#fitsShare(entry.account, entry.amount)) {
        passedOver.add(entry.account);
        continue;
      }
      // nobody overtakes: a large claim would wait for ever behind small ones
      if (!this.#fits(entry.amount)) return;
      this.#leaveQueue(entry);
      entry.granted = true;
      this.#used += entry.amount;
      add(this.#held, entry.account, entry.amount);
      if (entry !== fresh) entry.onGranted();
    }
  }

  #release(entry: Entry): void {
    if (entry.granted) {
      entry.granted = false;
      this.#used -= entry.amount;
      add(this.#held, entry.account, -entry.amount);
    } else if (this.#waiting.has(entry)) {
      this.#leaveQueue(entry);
    } else {
      return;
    }
    if (this.#waiting.size > 0) this.#grant();
  }

  #leaveQueue(entry: Entry): void {
    this.#waiting.delete(entry);
    add(this.#waitingOf, entry.account, -1);
  }
}

function add(sums: Map<string, number>, key: string, amount: number): void {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}
