import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { type ClosedAccounts, noneClosed } from './closed-accounts.ts';

/** An account of the service: it owns projects and access tokens. */
export interface User {
  readonly id: string;
  /** Lower case; unique. Empty: the row only reserves its id. */
  readonly email: string;
}

/** Everything that is stored of an account. */
export interface Account extends User {
  readonly name: string;
  /** Empty: nobody can log in. */
  readonly passwordHash: string;
  readonly createdAt: Date;
  /** Grows with each change, which ends the sessions of earlier versions. */
  readonly version: number;
}

/**
 * The id of an account, from its e-mail address at registration: the same in every process, so that it is unique.
 * @param generation number of earlier accounts with this address, which are deleted
 */
export function userIdOf(email: string, generation = 0): string {
  const address = email.toLowerCase();
  return generation === 0 ? uuidV5('user', address) : uuidV5('user', address, String(generation));
}

interface UserRow {
  id: string;
  email: string;
  name: string;
  password_hash: string;
  created: number;
  version: number;
}

const neverClosed = { ...noneClosed, unusedId: async (idAt: (generation: number) => string) => idAt(0) };

const columns = ['id', 'email', 'name', 'password_hash', 'created_at', 'updated_at', 'version'];
const selection = `id, email, name, password_hash, toFloat64(toUnixTimestamp64Milli(created_at)) AS created,
  toFloat64(version) AS version`;

export class Users {
  readonly #db: Database;
  readonly #table: string;
  readonly #closed: Pick<ClosedAccounts, 'has' | 'unusedId'>;

  /** @param args.closed accounts that are not found any more; absent: there are none */
  constructor({
    db,
    database,
    closed = neverClosed,
  }: {
    readonly db: Database;
    readonly database: string;
    readonly closed?: Pick<ClosedAccounts, 'has' | 'unusedId'>;
  }) {
    this.#db = db;
    this.#table = `${database}.users`;
    this.#closed = closed;
  }

  /** The id that an account with this address gets, or that reserves the address for another account. */
  idOf(email: string): Promise<string> {
    return this.#closed.unusedId((generation) => userIdOf(email, generation));
  }

  async findByEmail(email: string, signal?: AbortSignal): Promise<Account | null> {
    return email === '' ? null : this.#find(`email = ${textLiteral(email.toLowerCase())}`, signal);
  }

  findById(id: string, signal?: AbortSignal): Promise<Account | null> {
    return this.#find(`id = ${textLiteral(id)}`, signal);
  }

  /** Creates an account without a login. Concurrent calls, even in several processes, create only one. */
  async create(args: { email: string; name: string; id?: string }): Promise<Account> {
    const { email, name, id = await this.idOf(email) } = args;
    const account = {
      id,
      email: email.toLowerCase(),
      name,
      passwordHash: '',
      createdAt: new Date(),
      version: 0,
    };
    await this.store(account);
    return account;
  }

  /**
   * Stores an account as its next version; the first one is 0. False: another request was first to store that version,
   * and nothing was stored.
   */
  async store(account: Account, signal?: AbortSignal): Promise<boolean> {
    const { id, email, name, passwordHash, createdAt, version } = account;
    // the first of two INSERTs with the same token counts, but only the newest tokens are remembered
    const before = await this.findById(id, signal);
    if ((before?.version ?? -1) >= version) return false;
    const now = timestampText(new Date());
    const lines = rowLine([id, email, name, passwordHash, timestampText(createdAt), now, version]);
    const insert = { table: this.#table, columns, lines, token: `${id}:${version}`, signal };
    const unknown = await this.#db.insert(insert).then(
      () => null,
      (error: unknown) => {
        if (error instanceof UnknownOutcome) return error;
        throw error;
      },
    );
    const after = await this.findById(id, signal);
    if (unknown !== null && (after === null || after.version < version)) throw unknown;
    // equal values: the account is stored as intended, by whichever process
    return (
      after?.version === version &&
      after.email === email &&
      after.name === name &&
      after.passwordHash === passwordHash
    );
  }

  /** Whether there is an account with another e-mail address. */
  async anyBeside(email: string, signal?: AbortSignal): Promise<boolean> {
    const sql = `SELECT 1 AS one FROM ${this.#table} FINAL WHERE email NOT IN ('', ${textLiteral(email)}) LIMIT 1`;
    return (await this.#db.rows({ sql, signal })).length > 0;
  }

  /** The ids that are reserved for an account. */
  async reservedFor(accountId: string, signal: AbortSignal): Promise<readonly string[]> {
    const sql = `SELECT id FROM ${this.#table} FINAL WHERE email = '' AND name = ${textLiteral(accountId)}`;
    return (await this.#db.rows<{ id: string }>({ sql, signal })).map(({ id }) => id);
  }

  /** Removes rows of ids that are closed. */
  async remove(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const among = ids.map(textLiteral).join(', ');
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE id IN (${among})`, signal });
  }

  async #find(condition: string, signal?: AbortSignal): Promise<Account | null> {
    const sql = `SELECT ${selection} FROM ${this.#table} FINAL WHERE ${condition} ORDER BY created_at LIMIT 10`;
    // rows of a closed account remain for a moment
    const rows = await this.#db.rows<UserRow>({ sql, signal });
    const row = rows.find(({ id }) => !this.#closed.has(id));
    if (row === undefined) return null;
    const { id, email, name, password_hash: passwordHash, created, version } = row;
    return { id, email, name, passwordHash, createdAt: new Date(created), version };
  }
}
