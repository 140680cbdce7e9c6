import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';

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

/** The id of an account, from its e-mail address at registration: the same in every process, so that it is unique. */
export function userIdOf(email: string): string {
  return uuidV5('user', email.toLowerCase());
}

interface UserRow {
  id: string;
  email: string;
  name: string;
  password_hash: string;
  created: number;
  version: number;
}

const columns = ['id', 'email', 'name', 'password_hash', 'created_at', 'updated_at', 'version'];
const selection = `id, email, name, password_hash, toFloat64(toUnixTimestamp64Milli(created_at)) AS created,
  toFloat64(version) AS version`;

export class Users {
  readonly #db: Database;
  readonly #table: string;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#table = `${database}.users`;
  }

  async findByEmail(email: string, signal?: AbortSignal): Promise<Account | null> {
    return email === '' ? null : this.#find(`email = ${textLiteral(email.toLowerCase())}`, signal);
  }

  findById(id: string, signal?: AbortSignal): Promise<Account | null> {
    return this.#find(`id = ${textLiteral(id)}`, signal);
  }

  /** Creates an account without a login. Concurrent calls, even in several processes, create only one. */
  async create(args: { email: string; name: string; id?: string }): Promise<Account> {
    const { email, name, id = userIdOf(email) } = args;
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

  async #find(condition: string, signal?: AbortSignal): Promise<Account | null> {
    const sql = `SELECT ${selection} FROM ${this.#table} FINAL WHERE ${condition} ORDER BY created_at LIMIT 1`;
    const [row] = await this.#db.rows<UserRow>({ sql, signal });
    if (row === undefined) return null;
    const { id, email, name, password_hash: passwordHash, created, version } = row;
    return { id, email, name, passwordHash, createdAt: new Date(created), version };
  }
}
