import { hash as oneShotHash, randomUUID } from 'node:crypto';
import { deleteRows } from '#catalogue/delete-rows.ts';
import type { Deployment } from '#catalogue/deployment.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Grants } from '#kernel/grants.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { sealedToken } from './sealed-token.ts';

/** Limits of a read with a token, where the operator set some. */
export interface ReadLimitsOfToken {
  /** Records; 0: any number. */
  readonly maxRows?: number;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** An access token as it is stored: never the token itself. */
export interface AccessToken {
  readonly id: string;
  /** SHA-256 of the token, in hex. */
  readonly hash: string;
  readonly userId: string;
  readonly name: string;
  /** The id of the member of the account who made it; absent: the owner, or an operator. */
  readonly madeBy?: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Absent: READ_MAX_ROWS and READ_TIMEOUT_MS. */
  readonly limits?: ReadLimitsOfToken;
  /** Absent: it may do everything that its account may. */
  readonly grants?: Grants;
  /** It belongs to a session of the dashboard and ends with it; nobody made it by hand. */
  readonly ofSession?: true;
}

/** SHA-256 in hex. A fast hash will do for 256 random bits. */
export function hashToken(token: string): string {
  return oneShotHash('sha256', token);
}

/** A token as JSON has it: times are numbers or texts. */
export type TokenJson = Omit<AccessToken, 'createdAt' | 'expiresAt' | 'revokedAt'> & {
  readonly createdAt: number | string;
  readonly expiresAt: number | string | null;
  readonly revokedAt: number | string | null;
};

export function tokenOfJson(json: TokenJson): AccessToken {
  const dateOf = (time: number | string | null): Date | null => (time === null ? null : new Date(time));
  const { createdAt, expiresAt, revokedAt } = json;
  return {
    ...json,
    createdAt: new Date(createdAt),
    expiresAt: dateOf(expiresAt),
    revokedAt: dateOf(revokedAt),
  };
}

type StoredToken = Omit<TokenJson, 'grants' | 'madeBy'> & {
  readonly maxRows: number | null;
  readonly timeout: number | null;
  /** JSON; empty: everything. */
  readonly grants: string;
  /** Empty: no member. */
  readonly madeBy: string;
};

const columns = [
  'hash',
  'id',
  'user_id',
  'name',
  'expires_at',
  'revoked_at',
  'created_at',
  'version',
  'sealed',
  'read_max_rows',
  'read_timeout_ms',
  'grants',
  'made_by',
];

export class AccessTokens {
  readonly #db: Database;
  readonly #table: string;
  readonly #usesTable: string;
  readonly #deployment: Pick<Deployment, 'secret'>;

  constructor(args: {
    readonly db: Database;
    readonly database: string;
    readonly deployment: Pick<Deployment, 'secret'>;
  }) {
    const { db, database, deployment } = args;
    this.#db = db;
    this.#table = `${database}.access_tokens`;
    this.#usesTable = `${database}.access_token_uses`;
    this.#deployment = deployment;
  }

  /** Makes a token. Its text is in the answer and nowhere else. @param args.token a given text instead of a random one */
  async create(args: {
    readonly userId: string;
    readonly name: string;
    readonly expiresAt: Date | null;
    readonly token?: string | undefined;
    readonly limits?: ReadLimitsOfToken | undefined;
    readonly grants?: Grants | undefined;
    readonly madeBy?: string | undefined;
  }): Promise<{ token: string; stored: AccessToken }> {
    const { userId, name, expiresAt, limits, grants, madeBy } = args;
    const { token = sealedToken(this.#deployment.secret) } = args;
    const stored: AccessToken = {
      id: randomUUID(),
      hash: hashToken(token),
      userId,
      name,
      createdAt: new Date(),
      expiresAt,
      revokedAt: null,
      ...(limits && { limits }),
      ...(grants && { grants }),
      ...(madeBy && { madeBy }),
    };
    await this.#write(stored, args.token === undefined);
    return { token, stored };
  }

  findByHash(hash: string, signal?: AbortSignal): Promise<AccessToken | null> {
    return this.#find(`hash = ${textLiteral(hash)}`, signal);
  }

  findById(id: string, signal?: AbortSignal): Promise<AccessToken | null> {
    return this.#find(`id = ${textLiteral(id)}`, signal);
  }

  /** All tokens of a user, oldest first. */
  list(userId: string): Promise<readonly AccessToken[]> {
    return this.#select(`user_id = ${textLiteral(userId)} ORDER BY created_at, id`);
  }

  /** All tokens that a member made, in any account. */
  madeBy(userId: string): Promise<readonly AccessToken[]> {
    return this.#select(`made_by = ${textLiteral(userId)} ORDER BY created_at, id`);
  }

  /** Removes the tokens of a deleted account. */
  async removeAll(userId: string, signal: AbortSignal): Promise<void> {
    const own = `user_id = ${textLiteral(userId)}`;
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE ${own}`, signal });
    // uses are noted later than they happen
    const orphans = `hash NOT IN (SELECT hash FROM ${this.#table})`;
    const found = `SELECT hash AS value FROM ${this.#usesTable} WHERE ${orphans}`;
    await deleteRows(this.#db, { table: this.#usesTable, column: 'hash', found }, signal);
  }

  /** Times of the last uses of tokens, by their hashes, as far as they are noted. */
  async lastUses(tokens: readonly AccessToken[], signal?: AbortSignal): Promise<ReadonlyMap<string, Date>> {
    if (tokens.length === 0) return new Map();
    const among = tokens.map(({ hash }) => textLiteral(hash)).join(', ');
    const rows = await this.#db.rows<{ hash: string; used: number }>({
      sql: `SELECT hash, toFloat64(toUnixTimestamp64Milli(max(last_used_at))) AS used
       FROM ${this.#usesTable} WHERE hash IN (${among}) GROUP BY hash`,
      signal,
    });
    return new Map(rows.map(({ hash, used }) => [hash, new Date(used)]));
  }

  /** SHA-256, in hex, of tokens without a checksum. @param limit more are left out */
  async unsealedHashes(limit: number): Promise<readonly string[]> {
    const sql = `SELECT DISTINCT hash FROM ${this.#table} WHERE NOT sealed LIMIT ${limit}`;
    return (await this.#db.rows<{ hash: string }>({ sql })).map(({ hash }) => hash);
  }

  async any(): Promise<boolean> {
    return (await this.#db.rows({ sql: `SELECT 1 AS one FROM ${this.#table} LIMIT 1` })).length > 0;
  }

  /** Ends a token for good. */
  async revoke(token: AccessToken): Promise<void> {
    // whether it has a checksum makes no difference any more
    await this.#write({ ...token, revokedAt: new Date() }, false);
  }

  async noteUses(uses: ReadonlyMap<string, Date>): Promise<void> {
    if (uses.size === 0) return;
    const lines = Buffer.concat([...uses].map(([hash, at]) => rowLine([hash, timestampText(at)])));
    await this.#db.insert({ table: this.#usesTable, columns: ['hash', 'last_used_at'], lines });
  }

  #write(token: AccessToken, sealed: boolean): Promise<void> {
    const lines = rowLine([
      token.hash,
      token.id,
      token.userId,
      token.name,
      token.expiresAt && timestampText(token.expiresAt),
      token.revokedAt && timestampText(token.revokedAt),
      timestampText(token.createdAt),
      // a revoked row wins over every other of its token
      token.revokedAt === null ? 0 : 1,
      sealed ? 1 : 0,
      token.limits?.maxRows ?? null,
      token.limits?.timeout ?? null,
      token.grants === undefined ? '' : JSON.stringify(token.grants),
      token.madeBy ?? '',
    ]);
    return this.#db.insert({ table: this.#table, columns, lines });
  }

  async #select(condition: string, signal?: AbortSignal): Promise<AccessToken[]> {
    const rows = await this.#db.rows<StoredToken>({
      sql: `SELECT id, hash, user_id AS userId, name, toUnixTimestamp64Milli(created_at) AS createdAt,
         toUnixTimestamp64Milli(expires_at) AS expiresAt, toUnixTimestamp64Milli(revoked_at) AS revokedAt,
         toFloat64(read_max_rows) AS maxRows, read_timeout_ms AS timeout, grants, made_by AS madeBy
       FROM ${this.#table} FINAL WHERE ${condition}`,
      signal,
    });
    return rows.map(({ maxRows, timeout, grants, madeBy, ...row }) => {
      const limits = readLimitsOf(maxRows, timeout);
      const granted = grants === '' ? {} : { grants: JSON.parse(grants) as Grants };
      return { ...tokenOfJson(row), ...(limits && { limits }), ...granted, ...(madeBy && { madeBy }) };
    });
  }

  async #find(condition: string, signal?: AbortSignal): Promise<AccessToken | null> {
    return (await this.#select(`${condition} LIMIT 1`, signal))[0] ?? null;
  }
}

/** The given limits; undefined: there are none. */
export function readLimitsOf(maxRows: number | null, timeout: number | null): ReadLimitsOfToken | undefined {
  if (maxRows === null && timeout === null) return undefined;
  return { ...(maxRows !== null && { maxRows }), ...(timeout !== null && { timeout }) };
}
