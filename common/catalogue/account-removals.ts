import { LockRefused, type Locks } from '#coordination/redis/process-lock.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { withDeadline } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ClosedAccounts } from './closed-accounts.ts';

/** What of an account a room owns. */
export type RemovalPart = 'files' | 'records' | 'webhooks' | 'account';

/**
 * Removes what a room owns of an account, which is closed in every process. It can be repeated.
 * @param isLast nothing of the account is under way any more
 */
export type RemovePart = (accountId: string, signal: AbortSignal, isLast: boolean) => Promise<void>;

interface AccountRemovalsDeps {
  readonly db: Database;
  readonly database: string;
  readonly closed: ClosedAccounts;
  readonly locks: Locks;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Milliseconds after which every process knows that an account is closed. */
  readonly heardAfter: number;
  /** Milliseconds after which nothing of a closed account is under way. */
  readonly grace: number;
  /** Milliseconds between two searches for work. */
  readonly searchEvery?: number;
}

interface ClosedAccount {
  readonly id: string;
  readonly closed: number;
  /** When the last pass of the part began; 0: there was none. */
  readonly passed: number;
}

const columns = ['account_id', 'part', 'passed_at', 'is_done'];
/** Most accounts of one search. */
const accountsAtOnce = 100;
/** A pass that takes longer goes on with the next search. Milliseconds. */
const passLimit = 600_000;

/**
 * Removes deleted accounts, part by part. Each part runs twice: once all processes refuse the account, and again when
 * nothing is under way. A kill leaves a part without its note, so that the next start does it again.
 */
export class AccountRemovals {
  readonly #deps: AccountRemovalsDeps;
  readonly #parts = new Map<RemovalPart, RemovePart>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #again = false;
  #started = false;

  constructor(deps: AccountRemovalsDeps) {
    this.#deps = deps;
  }

  /** Called by the room that owns the part, before the start. */
  add(part: RemovalPart, remove: RemovePart): void {
    this.#parts.set(part, remove);
  }

  /** Goes on with what an earlier process left, and then waits for accounts to be closed. */
  start(): void {
    this.#started = true;
    this.#deps.closed.onClosed = () => this.#run();
    this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the server stops'));
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(): void {
    if (!this.#started || this.#closing.signal.aborted) return;
    this.#again = true;
    clearTimeout(this.#timer);
    this.#running ??= this.#runAll().finally(() => {
      this.#running = null;
      if (this.#again) this.#run();
    });
  }

  async #runAll(): Promise<void> {
    const { log, searchEvery = 30_000 } = this.#deps;
    let wait = searchEvery;
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      wait = searchEvery;
      for (const [part, remove] of this.#parts) {
        const next = await this.#runPart(part, remove).catch((err: unknown) => {
          if (!this.#closing.signal.aborted) logSkipped(log, part, err);
          return searchEvery;
        });
        wait = Math.min(wait, next);
      }
    }
    if (!this.#closing.signal.aborted)
      this.#timer = setTimeout(() => this.#run(), Math.max(wait, 50)).unref();
  }

  /** @returns milliseconds until the part has more to do */
  async #runPart(part: RemovalPart, remove: RemovePart): Promise<number> {
    const { locks, heardAfter, grace } = this.#deps;
    let wait = Number.POSITIVE_INFINITY;
    for (const account of await this.#unfinished(part)) {
      const due = account.closed + (account.passed >= account.closed + heardAfter ? grace : heardAfter);
      const until = due - Date.now();
      if (until > 0) {
        wait = Math.min(wait, until);
        continue;
      }
      const done = await locks(`remove-account-${part}`).hold((lost) =>
        this.#pass(part, remove, account, AbortSignal.any([lost, this.#closing.signal])),
      );
      if (!done) wait = Math.min(wait, account.closed + grace - Date.now());
    }
    return wait;
  }

  /** @returns whether the part is done for good */
  async #pass(
    part: RemovalPart,
    remove: RemovePart,
    account: ClosedAccount,
    stop: AbortSignal,
  ): Promise<boolean> {
    const { db, database, grace, log } = this.#deps;
    const began = Date.now();
    const isLast = began >= account.closed + grace;
    await withDeadline(stop, passLimit, ({ signal }) => remove(account.id, signal, isLast));
    const lines = rowLine([account.id, part, timestampText(new Date(began)), isLast ? 1 : 0]);
    await db.insert({ table: `${database}.account_removals`, columns, lines });
    if (isLast) log.info({ part, account: account.id }, 'a part of a deleted account is removed');
    return isLast;
  }

  #unfinished(part: RemovalPart): Promise<readonly ClosedAccount[]> {
    const { db, database } = this.#deps;
    const ofPart = `SELECT account_id, toFloat64(toUnixTimestamp64Milli(max(passed_at))) AS passed, max(is_done) AS done
      FROM ${database}.account_removals WHERE part = ${textLiteral(part)} GROUP BY account_id`;
    return db.rows<ClosedAccount>({
      sql: `SELECT id, toFloat64(toUnixTimestamp64Milli(min(closed_at))) AS closed, any(passes.passed) AS passed
        FROM ${database}.closed_accounts LEFT JOIN (${ofPart}) AS passes ON passes.account_id = id
        WHERE deletes AND NOT passes.done GROUP BY id ORDER BY closed LIMIT ${accountsAtOnce}`,
      signal: this.#closing.signal,
    });
  }
}

function logSkipped(log: AccountRemovalsDeps['log'], part: RemovalPart, err: unknown): void {
  if (err instanceof LockRefused && err.reason === 'held') return;
  log.warn({ err, part }, 'a part of a deleted account is left to the next search');
}
