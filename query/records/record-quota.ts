import { quotaExceeded } from '#kernel/errors/catalogue.ts';
import { AccountQuota } from '#kernel/limits/account-quota.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Assignment } from './sql/update-sql.ts';
import type { RecordWrites } from './store/record-store.ts';

/** Bytes that a record counts in addition to its values: its id, its times, and the row itself. */
export const recordOverhead = 64;

/** Milliseconds after which an account that writes is counted again, with the writes of other processes. */
const countEvery = 60_000;
/** Milliseconds that a write waits for a count that decides. A longer count continues in the background. */
const firstWait = 1000;

/**
 * An account's quota of records. Counting reads all values of the account, so it happens in the background: at first use, when
 * there seems to be no room, and once a minute. Values that an update replaces count until then.
 */
export class RecordQuota {
  readonly #quota: AccountQuota;
  readonly #onError: (error: unknown) => void;

  /** @param args.count asks the store */
  constructor(args: {
    readonly limit: number;
    readonly count: (account: string, signal: AbortSignal) => Promise<number>;
    readonly log: Pick<Log, 'warn'>;
    readonly now?: () => number;
  }) {
    const { limit, count, log, now } = args;
    this.#quota = new AccountQuota({
      limits: { bytes: limit },
      ask: async (account, signal) => ({ bytes: await count(account, signal) }),
      full: () => quotaExceeded(`${limit} bytes of records`),
      lifetime: countEvery,
      now,
    });
    this.#onError = (err) =>
      log.warn({ err }, 'the records of an account could not be counted for its quota');
  }

  /** Does a write that adds at most `bytes`. Throws 403 when the quota has no room for them. */
  async write<Result>(owner: string, bytes: number, work: () => Promise<Result>): Promise<Result> {
    const quota = this.#quota;
    const tally = quota.tallyOf(owner);
    if (quota.isOld(tally) || !quota.fits(tally, 0, bytes))
      quota.askInBackground(owner, tally, this.#onError);
    // a figure that leaves room is good enough: nobody waits for a newer one
    const uncertain = !tally.isKnown || !quota.fits(tally, 0, bytes);
    if (uncertain && tally.asking !== null) await settledWithin(tally.asking, firstWait);
    const refusal = quota.refusal(tally, 0, bytes);
    if (refusal !== null) throw refusal;
    tally.claim(0, bytes);
    let stored = false;
    try {
      const result = await work();
      stored = true;
      return result;
    } finally {
      if (stored) tally.store(0, bytes);
      else tally.claim(0, -bytes);
    }
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
      // all steps are alike: the same change of several records, or increments of one
      const assignments = steps[0]?.assignments ?? null;
      if (assignments === null) return writes.change(change);
      const bytes = steps.length * assignedBytes(assignments);
      return quota.write(space.ownerId, bytes, () => writes.change(change));
    },
  };
}
