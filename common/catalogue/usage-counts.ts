import { randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { slugProblem } from '#kernel/ids/slug.ts';
import type { Log } from '#kernel/log/log.ts';
import type { FinishedRequest } from '#kernel/telemetry/http-observer.ts';
import { type IsClosed, noneClosed } from './closed-accounts.ts';

/** An account's usage of a project on a day (UTC). */
export interface UsageDay {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly project: string;
  requests: number;
  /** Bytes of request bodies. */
  bytesIn: number;
  files: number;
  bytesStored: number;
  recordsWritten: number;
}

export type UsageFigures = Omit<UsageDay, 'date' | 'project'>;

interface ProjectDayCount {
  readonly account: string;
  readonly day: UsageDay;
}

interface UsageCountsDeps {
  readonly db: Database;
  readonly database: string;
  readonly log: Pick<Log, 'warn'>;
  /** Accounts whose usage is not stored any more; absent: none. */
  readonly closed?: IsClosed;
}

/** The rows of one INSERT. Because of its token it counts once, however often it is sent. */
interface CountBatch {
  readonly counts: ReadonlyMap<string, ProjectDayCount>;
  readonly token: string;
}

/** Milliseconds. */
const writeEvery = 60_000;
const writeLimit = 5_000;
const dayMilliseconds = 24 * 60 * 60 * 1000;
/** Counters that trigger an early write. */
const mostCounts = 10_000;
/** Most rows of an answer, some 10 MB. */
const mostRows = 100_000;
/** How often a read is repeated because counts were written meanwhile. */
const mostReads = 3;

const columns = [
  'owner_id',
  'date',
  'project',
  'request_count',
  'bytes_in',
  'file_count',
  'bytes_stored',
  'records_written',
];
const sums = `toFloat64(sum(request_count)) AS requests, toFloat64(sum(bytes_in)) AS bytesIn,
  toFloat64(sum(file_count)) AS files, toFloat64(sum(bytes_stored)) AS bytesStored,
  toFloat64(sum(records_written)) AS recordsWritten`;

/**
 * Counts the usage of accounts by project and day, in memory, and adds it to the table once a minute. A process that is
 * killed loses the last minute.
 */
export class UsageCounts {
  readonly #deps: UsageCountsDeps;
  readonly #most: number;
  #counts = new Map<string, ProjectDayCount>();
  /** The last used count of today. */
  #last: ProjectDayCount | null = null;
  #today = { date: '', ends: 0 };
  /** The batch that is being written, or waits for a retry. */
  #batch: CountBatch | null = null;
  #writing: Promise<void> | null = null;
  /** The number of written batches. */
  #written = 0;
  /** The number of counts dropped for lack of memory. */
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: UsageCountsDeps, most = mostCounts) {
    this.#deps = deps;
    this.#most = most;
  }

  /** Starts writing once a minute. */
  start(): void {
    this.#timer = setInterval(() => void this.write(), writeEvery).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    // a running write lacks the latest counts
    await this.#writing;
    await this.write();
  }

  /** Counts a request that has an account and a project in its path. */
  answered({ userId, project, bytesIn }: FinishedRequest): void {
    if (userId === null || project === '') return;
    const last = this.#last;
    if (last !== null && last.account === userId && last.day.project === project && this.#isToday(last)) {
      last.day.requests++;
      last.day.bytesIn += bytesIn;
      return;
    }
    if (slugProblem('project', project) !== null) return;
    this.add(userId, project, { requests: 1, bytesIn });
  }

  /** @param project a slug */
  add(account: string, project: string, figures: Partial<UsageFigures>): void {
    const date = this.#date();
    const key = `${date}/${account}/${project}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      if (this.#counts.size >= this.#most && this.#batch === null) void this.write();
      // losing a count is better than running out of memory
      if (this.#counts.size >= this.#most) {
        this.#lost++;
        return;
      }
      const none = { requests: 0, bytesIn: 0, files: 0, bytesStored: 0, recordsWritten: 0 };
      count = { account, day: { date, project, ...none } };
      this.#counts.set(key, count);
    }
    addTo(count.day, figures);
    this.#last = count;
  }

  #isToday({ day }: ProjectDayCount): boolean {
    return day.date === this.#date();
  }

  #date(): string {
    const now = Date.now();
    const { ends } = this.#today;
    if (now >= ends || now < ends - dayMilliseconds) {
      this.#today = { date: dayOf(now), ends: (Math.floor(now / dayMilliseconds) + 1) * dayMilliseconds };
    }
    return this.#today.date;
  }

  /** Adds the counts to the table. After a failure they are kept for the next time. */
  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      // a failed batch is sent again unchanged, so that its token stays valid
      if (this.#batch !== null) await this.#insert(this.#batch);
      if (this.#counts.size === 0) return;
      this.#batch = { counts: this.#counts, token: randomUUID() };
      this.#counts = new Map();
      this.#last = null;
      await this.#insert(this.#batch);
    } catch (error) {
      const facts = { err: error, lost: this.#lost };
      this.#deps.log.warn(facts, 'usage counts could not be stored, and are kept for the next minute');
      this.#lost = 0;
    }
  }

  async #insert({ counts, token }: CountBatch): Promise<void> {
    const { db, database, closed = noneClosed } = this.#deps;
    const open = [...counts.values()].filter(({ account }) => !closed.has(account));
    const rows = open.map(({ account, day }) =>
      JSON.stringify([
        account,
        day.date,
        day.project,
        day.requests,
        day.bytesIn,
        day.files,
        day.bytesStored,
        day.recordsWritten,
      ]),
    );
    const lines = Buffer.from(`${rows.join('\n')}\n`);
    const signal = AbortSignal.timeout(writeLimit);
    if (rows.length > 0) await db.insert({ table: `${database}.usage_days`, columns, lines, token, signal });
    this.#batch = null;
    this.#written++;
  }

  /** Removes the usage of a deleted account. */
  removeAll(account: string, signal: AbortSignal): Promise<void> {
    const { db, database } = this.#deps;
    const sql = `DELETE FROM ${database}.usage_days WHERE owner_id = ${textLiteral(account)}`;
    return db.command({ sql, signal });
  }

  /**
   * The usage of an account in a range of days, by day and project, including the unwritten counts of this process; null:
   * too many rows. Other processes write their counts within a minute.
   */
  async of(
    account: string,
    { from, to }: { readonly from: string; readonly to: string },
    signal: AbortSignal,
  ): Promise<readonly UsageDay[] | null> {
    const { db, database } = this.#deps;
    const sql = `SELECT toString(date) AS day, project, ${sums} FROM ${database}.usage_days
      WHERE owner_id = ${textLiteral(account)} AND date BETWEEN toDate32(${textLiteral(from)}) AND toDate32(${textLiteral(to)})
      GROUP BY date, project ORDER BY date, project LIMIT ${mostRows + 1}`;
    for (let reads = 1; ; reads++) {
      await this.#writing;
      const before = this.#written;
      const rows = await db.rows<{ day: string } & Omit<UsageDay, 'date'>>({ sql, signal, account });
      // counts written meanwhile would be counted twice, or not at all
      const settled = before === this.#written && this.#writing === null;
      if (!settled && reads < mostReads) continue;
      const stored = rows.map(({ day, ...figures }): UsageDay => ({ date: day, ...figures }));
      const days = this.#withUnwritten(stored, account, from, to);
      return days.length > mostRows ? null : days;
    }
  }

  #withUnwritten(stored: readonly UsageDay[], account: string, from: string, to: string): UsageDay[] {
    const keyOf = ({ date, project }: UsageDay): string => `${date}/${project}`;
    const days = new Map(stored.map((day) => [keyOf(day), day]));
    for (const count of [...(this.#batch?.counts.values() ?? []), ...this.#counts.values()]) {
      const { date } = count.day;
      if (count.account !== account || date < from || date > to) continue;
      const known = days.get(keyOf(count.day));
      if (known === undefined) days.set(keyOf(count.day), { ...count.day });
      else addTo(known, count.day);
    }
    return [...days].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, day]) => day);
  }
}

/** @param time milliseconds since 1970 */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function addTo(day: UsageDay, figures: Partial<UsageFigures>): void {
  day.requests += figures.requests ?? 0;
  day.bytesIn += figures.bytesIn ?? 0;
  day.files += figures.files ?? 0;
  day.bytesStored += figures.bytesStored ?? 0;
  day.recordsWritten += figures.recordsWritten ?? 0;
}
