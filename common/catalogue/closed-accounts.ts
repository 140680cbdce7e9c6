import { type Invalidation, type StreamPosition, unannounced } from '#coordination/redis/invalidation.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import type { Log } from '#kernel/log/log.ts';

/** Whether an account is deleted, or about to be. */
export type IsClosed = Pick<ClosedAccounts, 'has'>;

/** For a process without deleted accounts. */
export const noneClosed: IsClosed = { has: () => false };

interface ClosedAccountsDeps {
  readonly db: Database;
  readonly database: string;
  readonly log: Pick<Log, 'warn'>;
  /** Whether no other process closes accounts. */
  readonly singleWriter: boolean;
  readonly invalidation?: Invalidation;
}

/** The id under which a change of the table is announced. */
const announcement = 'closed accounts';
/** Most ids in memory; requests of older ones fail because they have no token. */
const mostKnown = 100_000;
/** Milliseconds between two checks of the announcements, and between two reads without them. */
const checkEvery = 100;
const readEvery = 500;
/** Milliseconds by which clocks of processes may differ: rows of that age are read again. */
const clockSkew = 60_000;
const readLimit = 5_000;
const columns = ['id', 'deletes', 'closed_at'];
/** Generations of an id that one statement looks up. */
const generationsAtOnce = 8;

/**
 * Accounts that are deleted, or about to be (docs/decisions/077-members-and-deleted-accounts.md). A process that closes one
 * knows it at once, and others within a second. An id that was closed is never used again.
 */
export class ClosedAccounts {
  readonly #deps: Required<ClosedAccountsDeps>;
  readonly #table: string;
  readonly #known = new Set<string>();
  /** Called when an account was closed, here or in another process. */
  onClosed: () => void = () => {};
  /** When the newest row was closed, as far as this process knows. Milliseconds since 1970. */
  #newest = 0;
  #position: StreamPosition | null = null;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ClosedAccountsDeps) {
    this.#deps = { invalidation: unannounced, ...deps };
    this.#table = `${deps.database}.closed_accounts`;
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  /** Reads what is closed, and then watches for what other processes close. */
  async start(): Promise<void> {
    await this.#read();
    if (this.#deps.singleWriter) return;
    this.#timer = setInterval(() => this.#check(), checkEvery).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading?.catch(() => {});
  }

  /** Closes an account, whose parts then remove everything in it. Resolves once the mark is durable. */
  async delete(id: string): Promise<void> {
    await this.#mark(id, true);
    await this.#deps.invalidation.publish(announcement);
    this.onClosed();
  }

  /** Closes an id that only reserved an address. */
  giveBack(id: string): Promise<void> {
    return this.#mark(id, false);
  }

  /** The first id of a series that was never closed. */
  async unusedId(idAt: (generation: number) => string): Promise<string> {
    for (let first = 0; ; first += generationsAtOnce) {
      const ids = Array.from({ length: generationsAtOnce }, (_, index) => idAt(first + index));
      const among = ids.map(textLiteral).join(', ');
      const sql = `SELECT DISTINCT id FROM ${this.#table} WHERE id IN (${among})`;
      const closed = new Set((await this.#deps.db.rows<{ id: string }>({ sql })).map(({ id }) => id));
      const unused = ids.find((id) => !closed.has(id));
      if (unused !== undefined) return unused;
    }
  }

  async #mark(id: string, deletes: boolean): Promise<void> {
    const lines = rowLine([id, deletes ? 1 : 0, timestampText(new Date())]);
    await this.#deps.db.insert({ table: this.#table, columns, lines });
    this.#add(id);
  }

  #add(id: string): void {
    if (this.#known.size >= mostKnown) this.#known.delete(this.#known.values().next().value as string);
    this.#known.add(id);
  }

  /** Reads again if another process may have closed an account. */
  #check(): void {
    const { invalidation, log } = this.#deps;
    const isKnown = invalidation.isCurrent() && !invalidation.changedSince(announcement, this.#position);
    if (isKnown || this.#reading !== null) return;
    // without announcements, and while they fail, the table is read at an interval
    if (!invalidation.isCurrent() && performance.now() - this.#readAt < readEvery) return;
    this.#reading = this.#read()
      .catch((err: unknown) => log.warn({ err }, 'the closed accounts could not be read'))
      .finally(() => {
        this.#reading = null;
      });
  }

  async #read(): Promise<void> {
    const { db, invalidation } = this.#deps;
    this.#readAt = performance.now();
    const position = invalidation.position();
    const after = timestampText(new Date(Math.max(0, this.#newest - clockSkew)));
    const rows = await db.rows<{ id: string; closed: number }>({
      sql: `SELECT id, toFloat64(toUnixTimestamp64Milli(max(closed_at))) AS closed FROM ${this.#table}
        WHERE closed_at >= toDateTime64(${textLiteral(after)}, 3, 'UTC')
        GROUP BY id ORDER BY closed DESC LIMIT ${mostKnown}`,
      signal: AbortSignal.timeout(readLimit),
    });
    const before = this.#known.size;
    for (const { id, closed } of rows.toReversed()) {
      if (!this.#known.has(id)) this.#add(id);
      this.#newest = Math.max(this.#newest, closed);
    }
    this.#position = position;
    if (this.#known.size > before) this.onClosed();
  }
}
