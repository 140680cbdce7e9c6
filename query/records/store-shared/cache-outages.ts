import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#engine/database.ts';
import { versionLifetime } from './space-versions.ts';

/** Milliseconds. */
interface OutageTimes {
  /** How long a reader trusts versions after it checked for outages. */
  readonly trust: number;
  readonly refresh: number;
  /** How long an announced outage lasts. */
  readonly length: number;
  /** How long versions live. */
  readonly lifetime: number;
  /** How long a writer waits for the table's answer. */
  readonly timeout: number;
}

const usualTimes: OutageTimes = {
  trust: 1000,
  refresh: 400,
  length: 10_000,
  lifetime: versionLifetime,
  timeout: 2000,
};
/** How far two machines' clocks may disagree about a duration. */
const marginShare = 0.1;

/**
 * Outages of Redis. Processes announce them in ClickHouse, which every writer can reach: a row says until when no version
 * may be trusted. The time is ClickHouse's, so the row expires whatever happens to its writer.
 */
export class CacheOutages {
  readonly #db: Pick<Database, 'rows' | 'command'>;
  readonly #table: string;
  readonly #times: OutageTimes;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking = false;
  /** When the last check began that found no outage. */
  #quiet = Number.NEGATIVE_INFINITY;
  #period = 0;
  /** The earliest end of this process's last row. */
  #until = Number.NEGATIVE_INFINITY;
  #adding: Promise<void> | null = null;

  constructor(args: {
    db: Pick<Database, 'rows' | 'command'>;
    database: string;
    times?: Partial<OutageTimes>;
  }) {
    this.#db = args.db;
    this.#table = `${args.database}.cache_outages`;
    this.#times = { ...usualTimes, ...args.times };
  }

  /** For a reader, when it begins: whether all writers change versions. A process that seldom reads does not use the cache. */
  trusted(): boolean {
    const now = performance.now();
    if (!this.#asking && now - this.#askedAt >= this.#times.refresh) void this.#ask(now);
    return now < this.#quiet + this.#times.trust;
  }

  /** For a reader that polls `trusted`: a number that changes when a process may have written without Redis. */
  get period(): number {
    return this.#period;
  }

  /** For a writer: whether the announced outage outlasts every version that exists now. */
  get covered(): boolean {
    return performance.now() < this.#until - this.#times.lifetime * (1 + marginShare);
  }

  /** Resolves as soon as that is so. Rejects when ClickHouse can't be reached in time. */
  async cover(): Promise<void> {
    if (performance.now() > this.#until - this.#times.length / 2) {
      this.#adding ??= this.#add().finally(() => {
        this.#adding = null;
      });
      this.#adding.catch(() => {});
    }
    if (!this.covered) await this.#adding;
  }

  async #ask(began: number): Promise<void> {
    this.#asking = true;
    this.#askedAt = began;
    const { trust, length } = this.#times;
    try {
      const sql = `SELECT toUInt32(count()) AS outages FROM ${this.#table} WHERE until > now64(3)`;
      const [row] = await this.#db.rows<{ outages: number }>({ sql, signal: AbortSignal.timeout(trust) });
      const isQuiet = row?.outages === 0;
      // neither answer shows an outage that fits between the two
      if (isQuiet && began - this.#quiet > length * (1 - marginShare)) this.#period++;
      this.#quiet = isQuiet ? began : Number.NEGATIVE_INFINITY;
    } catch {
      // earlier answers stay valid as long as before
    } finally {
      this.#asking = false;
    }
  }

  async #add(): Promise<void> {
    const { trust, length, timeout } = this.#times;
    const sent = performance.now();
    const sql = `INSERT INTO ${this.#table} SELECT now64(3) + INTERVAL ${length} MILLISECOND`;
    await this.#db.command({ sql, signal: AbortSignal.timeout(timeout) });
    // without an earlier row, readers that just checked trust versions for a while
    if (performance.now() >= this.#until) await sleep(trust * (1 + marginShare));
    this.#until = sent + length * (1 - marginShare);
  }
}
