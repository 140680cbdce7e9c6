import { LRUCache } from 'lru-cache';
import type { Config } from '#kernel/config/read-config.ts';
import { quotaExceeded } from '#kernel/errors/catalogue.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { StorageUse } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';

/** Lifetime of the store's answer on an account: files of other processes count after that. Milliseconds. */
const askEvery = 10_000;
const rememberedAccounts = 10_000;

/** Files and bytes that are about to be stored, or were stored since the store was asked. */
interface Claim {
  readonly files: number;
  bytes: number;
  /** Bytes that the store has by now, the time when it got them, and bytes that it has reported. */
  stored: number;
  storedAt: number;
  reported: number;
  over: boolean;
}

/** Reports that a file that was counted is stored, or will not be. */
export type CountedFile = (stored: boolean) => void;
/**
 * Reports how many of the counted bytes, or more, are stored by now. @param over no more of them come
 * @returns the reason against more; null: there is none
 */
export type CountedBytes = (stored: number, over: boolean) => Error | null;

interface Account {
  /** The answer of the store, and the time of the question. */
  stored: StorageUse;
  askedAt: number;
  readonly claims: Set<Claim>;
}

export type Quota = Pick<StorageQuota, 'check' | 'claim' | 'claimBytes' | 'freed'>;

/** Accounts may store as much as they like. */
export const noQuota: Quota = {
  async check() {},
  claim: async () => () => {},
  claimBytes: async () => () => null,
  freed() {},
};

/**
 * Limits the storage of an account: its files, and its incomplete uploads. One process counts exactly; several may let
 * in too much within ten seconds.
 */
export class StorageQuota {
  readonly #limits: Config['storageQuota'];
  readonly #use: (account: string, signal: AbortSignal) => Promise<StorageUse>;
  readonly #now: () => number;
  readonly #accounts = new LRUCache<string, Account>({ ...upTo(rememberedAccounts) });
  /** Time of the last removal from each account: earlier answers of the store may be too high. */
  readonly #freedAt = new LRUCache<string, number>({ ...upTo(rememberedAccounts) });

  /** @param args.use asks the store */
  constructor(args: {
    limits: Config['storageQuota'];
    use: (account: string, signal: AbortSignal) => Promise<StorageUse>;
    now?: () => number;
  }) {
    this.#limits = args.limits;
    this.#use = args.use;
    this.#now = args.now ?? (() => performance.now());
  }

  /** Throws 403 when a file of this many bytes would be too much. */
  async check(owner: string, bytes: number, signal: AbortSignal): Promise<void> {
    await this.#admit(owner, { files: 1, bytes }, signal);
  }

  /** The same, and counts the file. */
  async claim(owner: string, bytes: number, signal: AbortSignal): Promise<CountedFile> {
    const account = await this.#admit(owner, { files: 1, bytes }, signal);
    const [claim, tell] = this.#add(account, 1, bytes);
    return (stored) => {
      if (stored) tell(bytes, true);
      else account.claims.delete(claim);
    };
  }

  /** Throws 403 when more bytes of an upload would be too much, and counts them. */
  async claimBytes(owner: string, bytes: number, signal: AbortSignal): Promise<CountedBytes> {
    const account = await this.#admit(owner, { files: 0, bytes }, signal);
    return this.#add(account, 0, bytes)[1];
  }

  /** Files or bytes of the account are gone. */
  freed(owner: string): void {
    this.#freedAt.set(owner, this.#now());
  }

  #add(account: Account, files: number, bytes: number): [Claim, CountedBytes] {
    const claim: Claim = { files, bytes, stored: 0, storedAt: 0, reported: 0, over: false };
    account.claims.add(claim);
    const tell: CountedBytes = (stored, over) => {
      Object.assign(claim, { stored, storedAt: this.#now(), over });
      claim.bytes = over ? stored : Math.max(claim.bytes, stored);
      const excess = this.#excess(account, { files: 0, bytes: 0 });
      return excess === null ? null : quotaExceeded(excess);
    };
    return [claim, tell];
  }

  async #admit(owner: string, more: StorageUse, signal: AbortSignal): Promise<Account> {
    const known = this.#accounts.get(owner);
    const isKnown = known !== undefined && this.#now() - known.askedAt <= askEvery;
    let account = isKnown ? known : await this.#ask(owner, signal);
    let excess = this.#excess(account, more);
    if (excess !== null && account.askedAt <= (this.#freedAt.get(owner) ?? Number.NEGATIVE_INFINITY)) {
      account = await this.#ask(owner, signal);
      excess = this.#excess(account, more);
    }
    if (excess !== null) throw quotaExceeded(excess);
    return account;
  }

  /** The limit that would be exceeded; null: none would. */
  #excess({ stored, claims }: Account, more: StorageUse): string | null {
    const { files: mostFiles, bytes: mostBytes } = this.#limits;
    let files = stored.files + more.files;
    let bytes = stored.bytes + more.bytes;
    for (const claim of claims) {
      files += claim.files;
      bytes += claim.bytes - claim.reported;
    }
    if (mostFiles > 0 && files > mostFiles && more.files > 0) return `${mostFiles} files`;
    return mostBytes > 0 && bytes > mostBytes ? `${mostBytes} bytes of files and uploads` : null;
  }

  async #ask(owner: string, signal: AbortSignal): Promise<Account> {
    const askedAt = this.#now();
    const stored = await this.#use(owner, signal);
    const account = this.#accounts.get(owner) ?? { stored, askedAt, claims: new Set() };
    if (account.askedAt <= askedAt) {
      account.stored = stored;
      account.askedAt = askedAt;
      for (const claim of account.claims) {
        if (claim.storedAt >= askedAt) continue;
        // the store has seen these
        claim.reported = claim.stored;
        if (claim.over) account.claims.delete(claim);
      }
    }
    this.#accounts.set(owner, account);
    return account;
  }
}

/** Asks the stores about the files and the incomplete uploads of an account. */
export function storageUse({
  cloudFiles,
  states,
}: {
  readonly cloudFiles: Pick<CloudFiles, 'usedBy'>;
  readonly states: { bytesOf(account: string, signal: AbortSignal): Promise<number> };
}): (account: string, signal: AbortSignal) => Promise<StorageUse> {
  return async (account, signal) => {
    // in this order: an upload that becomes a file meanwhile counts twice for a moment, and is not left out
    const unfinished = await states.bytesOf(account, signal);
    const { files, bytes } = await cloudFiles.usedBy(account, signal);
    return { files, bytes: bytes + unfinished };
  };
}
