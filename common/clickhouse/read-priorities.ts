/**
 * Priorities of reads in the engine: accounts that ask for little at once come first. While one runs, others pause
 * between two blocks (https://clickhouse.com/docs/operations/settings/settings#priority).
 */
export class ReadPriorities {
  /** Reads of accounts, those that wait for a session included. */
  readonly #underWay = new Map<string, number>();

  /** Counts a read of the account while it is under way. */
  async counted<Result>(account: string, read: () => Promise<Result>): Promise<Result> {
    this.#underWay.set(account, (this.#underWay.get(account) ?? 0) + 1);
    try {
      return await read();
    } finally {
      const left = (this.#underWay.get(account) as number) - 1;
      if (left > 0) this.#underWay.set(account, left);
      else this.#underWay.delete(account);
    }
  }

  /** 1 is the most urgent: one read at once; 2: two or three; 3: four to seven, and so on. */
  of(account: string): number {
    return 32 - Math.clz32(this.#underWay.get(account) ?? 1);
  }
}
