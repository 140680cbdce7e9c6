import { LRUCache } from 'lru-cache';
import type { StorageQuota as Limits } from '../common/config/read-limits.ts';
import { quotaExceeded } from '../common/errors/catalogue.ts';
import type { StorageUse } from '../common/metadata/cloud-files.ts';

/** How long the store's word on an account counts: what other processes store counts after that. Milliseconds. */
const lookEvery = 10_000;
const rememberedAccounts = 10_000;

/** A file that is about to be stored, or was stored since the store was asked. */
interface Claim {
  readonly bytes: number;
  /** Infinity: not yet. */
  storedAt: number;
}

/** Tells that a file that was counted is stored, or will not be. */
export type CountedFile = (stored: boolean) => void;

interface Account {
  /** What the store said, and when it was asked. */
  stored: StorageUse;
  askedAt: number;
  readonly claims: Set<Claim>;
}

/** What an account may store of files. One process counts exactly; several may let in what comes within ten seconds. */
export class StorageQuota {
  readonly #limits: Limits;
  readonly #use: (account: string, signal: AbortSignal) => Promise<StorageUse>;
  readonly #now: () => number;
  readonly #accounts = new LRUCache<string, Account>({ max: rememberedAccounts });
  /** When an account last deleted a file: what the store said before is too much. */
  readonly #freedAt = new LRUCache<string, number>({ max: rememberedAccounts });

  /** @param args.use asks the store */
  constructor(args: {
    limits: Limits;
    use: (account: string, signal: AbortSignal) => Promise<StorageUse>;
    now?: () => number;
  }) {
    this.#limits = args.limits;
    this.#use = args.use;
    this.#now = args.now ?? (() => performance.now());
  }

  /** Throws 403 when a file of so many bytes would be too much. */
  async check(owner: string, bytes: number, signal: AbortSignal): Promise<void> {
    this.#mustFit(await this.#account(owner, signal), bytes);
  }

  /** The same, and counts the file. */
  async claim(owner: string, bytes: number, signal: AbortSignal): Promise<CountedFile> {
    const account = await this.#account(owner, signal);
    this.#mustFit(account, bytes);
    const claim: Claim = { bytes, storedAt: Number.POSITIVE_INFINITY };
    account.claims.add(claim);
    return (stored) => {
      if (stored) claim.storedAt = this.#now();
      else account.claims.delete(claim);
    };
  }

  /** A file of the account is gone. */
  freed(owner: string): void {
    this.#freedAt.set(owner, this.#now());
  }

  #mustFit({ stored, claims }: Account, bytes: number): void {
    const { files: mostFiles, bytes: mostBytes } = this.#limits;
    if (mostFiles > 0 && stored.files + claims.size >= mostFiles) throw quotaExceeded(`${mostFiles} files`);
    if (mostBytes === 0) return;
    let sum = stored.bytes + bytes;
    for (const claim of claims) sum += claim.bytes;
    if (sum > mostBytes) throw quotaExceeded(`${mostBytes} bytes of files`);
  }

  async #account(owner: string, signal: AbortSignal): Promise<Account> {
    const known = this.#accounts.get(owner);
    const askedAt = this.#now();
    const freedAt = this.#freedAt.get(owner) ?? Number.NEGATIVE_INFINITY;
    if (known !== undefined && known.askedAt > freedAt && askedAt - known.askedAt <= lookEvery) return known;
    const stored = await this.#use(owner, signal);
    const account = this.#accounts.get(owner) ?? { stored, askedAt, claims: new Set() };
    if (account.askedAt <= askedAt) {
      account.stored = stored;
      account.askedAt = askedAt;
      // the store has seen them
      for (const claim of account.claims) if (claim.storedAt < askedAt) account.claims.delete(claim);
    }
    this.#accounts.set(owner, account);
    return account;
  }
}
