import type { Config } from '#kernel/config/read-config.ts';
import { quotaExceeded } from '#kernel/errors/catalogue.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import type { StorageUse } from '../catalogue/cloud-file.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';

/** Reports that a counted file is stored, or that it won't be. */
export type CountedFile = (stored: boolean) => void;
/**
 * Reports how many bytes are stored by now, which may be more than were counted. @param over no more will come
 * @returns the error that refuses more; null: continue
 */
export type CountedBytes = (stored: number, over: boolean) => Error | null;

export type Quota = Pick<StorageQuota, 'check' | 'claim' | 'claimBytes' | 'freed'>;

/** For a server without quotas. */
export const noQuota: Quota = {
  async check() {},
  claim: async () => () => {},
  claimBytes: async () => () => null,
  freed() {},
};

/** Limits the storage of an account: its files, and its incomplete uploads. */
export class StorageQuota {
  readonly #quota: AccountQuota;

  /** @param args.limits 0: no limit @param args.use asks the store */
  constructor(args: {
    limits: Config['storageQuota'];
    use: (account: string, signal: AbortSignal) => Promise<StorageUse>;
    now?: () => number;
  }) {
    const { limits, use, now } = args;
    this.#quota = new AccountQuota({
      limits: {
        objects: limits.files || Number.POSITIVE_INFINITY,
        bytes: limits.bytes || Number.POSITIVE_INFINITY,
      },
      ask: async (account, signal) => {
        const { files, bytes } = await use(account, signal);
        return { objects: files, bytes };
      },
      full: (limit, of) =>
        quotaExceeded(of === 'objects' ? `${limit} files` : `${limit} bytes of files and uploads`),
      now,
    });
  }

  /** Throws 403 when a file of this size would exceed the quota. */
  check(owner: string, bytes: number, signal: AbortSignal): Promise<void> {
    return this.#quota.check(owner, 1, bytes, signal);
  }

  /** Like `check`, and counts the file. */
  async claim(owner: string, bytes: number, signal: AbortSignal): Promise<CountedFile> {
    const tally = await this.#quota.claim(owner, 1, bytes, signal);
    return (stored) => {
      if (stored) tally.store(1, bytes);
      else tally.claim(-1, -bytes);
    };
  }

  /** Counts more bytes of an upload. Throws 403 when they would exceed the quota. */
  async claimBytes(owner: string, bytes: number, signal: AbortSignal): Promise<CountedBytes> {
    const tally = await this.#quota.claim(owner, 0, bytes, signal);
    let claimed = bytes;
    let reported = 0;
    return (stored, over) => {
      const claim = over ? stored : Math.max(claimed, stored);
      tally.claim(0, claim - claimed);
      tally.store(0, stored - reported);
      claimed = claim;
      reported = stored;
      return this.#quota.refusal(tally, 0, 0);
    };
  }

  /** Files or bytes of the account were removed. */
  freed(owner: string): void {
    this.#quota.freed(owner);
  }
}

/** Asks the stores about the files and the incomplete uploads of an account. */
export function storageUse({
  cloudFiles,
  unfinished,
}: {
  readonly cloudFiles: Pick<CloudFiles, 'usedBy'>;
  readonly unfinished: readonly { bytesOf(account: string, signal: AbortSignal): Promise<number> }[];
}): (account: string, signal: AbortSignal) => Promise<StorageUse> {
  return async (account, signal) => {
    // in this order: an upload that becomes a file in between counts twice for a moment, but is never missed
    const uploads = await Promise.all(unfinished.map((store) => store.bytesOf(account, signal)));
    const { files, bytes } = await cloudFiles.usedBy(account, signal);
    return { files, bytes: uploads.reduce((sum, more) => sum + more, bytes) };
  };
}
