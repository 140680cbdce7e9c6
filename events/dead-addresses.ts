import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { timestampText } from '#kernel/ids/row-values.ts';

/** An address that answered 410 Gone: it gets no calls until its account switches it on again. */
export interface DeadAddress {
  readonly url: string;
  readonly problem: string;
  readonly since: Date;
}

const columns = ['owner_id', 'url', 'is_off', 'problem', 'changed_at'];
/** Most addresses that a process remembers, of an account and in all. Others answer 410 again. */
const [mostOfAccount, most] = [100, 100_000];

/** The addresses that are switched off: in the store, and in memory, where each new delivery checks them. */
export class DeadAddresses {
  readonly #db: Database;
  readonly #table: string;
  #known = new Set<string>();
  #changes = 0;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#table = `${database}.webhook_addresses`;
  }

  has(ownerId: string, url: string): boolean {
    return this.#known.size > 0 && this.#known.has(keyOf(ownerId, url));
  }

  /** Reads what other processes changed. */
  async refresh(): Promise<void> {
    const before = this.#changes;
    const rows = await this.#db.rows<{ ownerId: string; url: string }>({
      sql: `SELECT owner_id AS ownerId, url FROM ${this.#table} FINAL WHERE is_off
        LIMIT ${mostOfAccount} BY owner_id LIMIT ${most}`,
    });
    // otherwise this process changed one meanwhile, and the next read finds it
    if (before === this.#changes) this.#known = new Set(rows.map(({ ownerId, url }) => keyOf(ownerId, url)));
  }

  async list(account: string, signal: AbortSignal): Promise<readonly DeadAddress[]> {
    const rows = await this.#db.rows<Omit<DeadAddress, 'since'> & { readonly since: number }>({
      sql: `SELECT url, problem, toFloat64(toUnixTimestamp64Milli(changed_at)) AS since FROM ${this.#table} FINAL
        WHERE owner_id = ${textLiteral(account)} AND is_off ORDER BY changed_at DESC, url LIMIT ${mostOfAccount}`,
      signal,
      account,
    });
    return rows.map(({ since, ...row }) => ({ ...row, since: new Date(since) }));
  }

  /** Takes effect in this process even if the store can't be reached. */
  async switchOff(ownerId: string, url: string, problem: string): Promise<void> {
    if (this.#known.size < most) this.#known.add(keyOf(ownerId, url));
    await this.#store(ownerId, url, true, problem);
  }

  async switchOn(ownerId: string, url: string): Promise<void> {
    await this.#store(ownerId, url, false, '');
    this.#known.delete(keyOf(ownerId, url));
    this.#changes++;
  }

  /** Removes the rows of a deleted account. */
  removeAll(ownerId: string, signal: AbortSignal): Promise<void> {
    const sql = `DELETE FROM ${this.#table} WHERE owner_id = ${textLiteral(ownerId)}`;
    return this.#db.command({ sql, signal });
  }

  async #store(ownerId: string, url: string, isOff: boolean, problem: string): Promise<void> {
    this.#changes++;
    const lines = Buffer.from(
      `${JSON.stringify([ownerId, url, isOff, problem, timestampText(new Date())])}\n`,
    );
    await this.#db.insert({ table: this.#table, columns, lines });
    this.#changes++;
  }
}

function keyOf(ownerId: string, url: string): string {
  return `${ownerId} ${url}`;
}
