import { deleteRows } from '#catalogue/delete-rows.ts';
import type { Members } from '#catalogue/members.ts';
import type { Account, Users } from '#catalogue/users.ts';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Grants } from '#kernel/grants.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import type { AccessToken } from './access-tokens.ts';

/** A stored session of the dashboard, without its cookie. */
export interface Session {
  /** SHA-256 of the cookie's value, in hex. */
  readonly hash: string;
  readonly userId: string;
  /** Version of the account at login. With a newer version the session has ended: the password was changed. */
  readonly userVersion: number;
  readonly createdAt: Date;
  readonly usedAt: Date;
  /** The session ends then even if it is in use. */
  readonly expiresAt: Date;
  /** The account that the session acts for; empty: the user's own. */
  readonly accountId: string;
  /** The `User-Agent` and the address of the login. */
  readonly agent: string;
  readonly address: string;
}

/** The account that a session acts for, and what its user may do there. */
export interface Acting {
  readonly account: Account;
  /** Absent: everything. */
  readonly grants?: Grants;
  /** Whether the user manages tokens, members and invitations. */
  readonly manages: boolean;
}

/** An active session, and its account. */
export interface LiveSession {
  readonly session: Session;
  /** The user. */
  readonly account: Account;
  /** Null: the user is no longer a member of the account, or it was deleted. */
  readonly acting: Acting | null;
}

/** An unused session ends after this time. Milliseconds. */
export const idleTimeout = 12 * 3_600_000;

/** A row of the table: times are milliseconds since 1970. */
type SessionRow = { readonly [Key in keyof Session]: Session[Key] extends Date ? number : Session[Key] };

const columns = [
  'hash',
  'user_id',
  'user_version',
  'created_at',
  'used_at',
  'expires_at',
  'account_id',
  'agent',
  'address',
  'ended',
  'version',
];
const milliseconds = (column: string): string => `toFloat64(toUnixTimestamp64Milli(${column}))`;
const selection = `hash, user_id AS userId, toFloat64(user_version) AS userVersion, account_id AS accountId, agent, address,
  ${milliseconds('created_at')} AS createdAt, ${milliseconds('used_at')} AS usedAt, ${milliseconds('expires_at')} AS expiresAt`;
/** Version of the row of an ended session, which takes precedence over every other row. */
const lastVersion = Number.MAX_SAFE_INTEGER;

interface SessionStoreDeps {
  readonly db: Database;
  readonly database: string;
  readonly users: Pick<Users, 'findById'>;
  readonly members: Pick<Members, 'find'>;
}

/** Sessions, and the access tokens that end with them. Nothing is cached, so a change takes effect everywhere at once. */
export class SessionStore {
  readonly #deps: SessionStoreDeps;
  readonly #table: string;
  readonly #tokens: string;

  constructor(deps: SessionStoreDeps) {
    this.#deps = deps;
    this.#table = `${deps.database}.console_sessions`;
    this.#tokens = `${deps.database}.session_tokens`;
  }

  /** Stores a new session or its last use. An ended session stays ended. */
  put(session: Session): Promise<void> {
    return this.#write(session, false);
  }

  end(session: Session): Promise<void> {
    return this.#write(session, true);
  }

  /** Null: there is none, or it has ended. */
  async find(hash: string, now: Date, signal?: AbortSignal): Promise<LiveSession | null> {
    const [session] = await this.#select(`hash = ${textLiteral(hash)}`, now, signal);
    if (session === undefined) return null;
    const account = await this.#deps.users.findById(session.userId, signal);
    if (account?.version !== session.userVersion) return null;
    return { session, account, acting: await this.actingOf(session, account, signal) };
  }

  /** The one place where a session gets its rights: read each time, so that changes count at once. */
  async actingOf({ accountId }: Session, user: Account, signal?: AbortSignal): Promise<Acting | null> {
    if (accountId === '' || accountId === user.id) return { account: user, manages: true };
    const { users, members } = this.#deps;
    const [account, member] = await Promise.all([
      users.findById(accountId, signal),
      members.find(accountId, user.id, signal),
    ]);
    if (account === null || member === null) return null;
    const { grants, manages } = member;
    return { account, manages, ...(grants && { grants }) };
  }

  /** Removes the sessions of a deleted account with their access tokens, and sessions of members that act for it. */
  async removeAll(userId: string, signal: AbortSignal): Promise<void> {
    const id = textLiteral(userId);
    const own = `user_id = ${id} OR account_id = ${id}`;
    const { db } = this.#deps;
    const found = `SELECT hash AS value FROM ${this.#table} WHERE ${own}`;
    await deleteRows(db, { table: this.#tokens, column: 'session', found }, signal);
    await db.command({ sql: `DELETE FROM ${this.#table} WHERE ${own}`, signal });
  }

  /** The active sessions of an account, the most recently used first. */
  ofUser(userId: string, now: Date, signal?: AbortSignal): Promise<readonly Session[]> {
    return this.#select(`user_id = ${textLiteral(userId)}`, now, signal);
  }

  /** Stores an access token that ends with its session. @param token.session hash of the session */
  async putToken(
    token: Pick<AccessToken, 'hash' | 'createdAt'> & { session: string; expiresAt: Date },
  ): Promise<void> {
    const { hash, session, createdAt, expiresAt } = token;
    await this.#deps.db.insert({
      table: this.#tokens,
      columns: ['hash', 'session', 'created_at', 'expires_at'],
      lines: rowLine([hash, session, timestampText(createdAt), timestampText(expiresAt)]),
    });
  }

  /** Expiry times of a session's valid tokens, the earliest first. */
  async tokenExpiries(session: string, now: Date, signal?: AbortSignal): Promise<readonly Date[]> {
    const rows = await this.#deps.db.rows<{ expires: number }>({
      sql: `SELECT ${milliseconds('expires_at')} AS expires FROM ${this.#tokens}
       WHERE session = ${textLiteral(session)} ORDER BY expires_at`,
      signal,
    });
    return rows.map(({ expires }) => new Date(expires)).filter((expiry) => expiry > now);
  }

  /** A session's token as an access token; null after the session's end. */
  async findToken(hash: string, now = new Date(), signal?: AbortSignal): Promise<AccessToken | null> {
    const [row] = await this.#deps.db.rows<{ session: string; created: number; expires: number }>({
      sql: `SELECT session, ${milliseconds('created_at')} AS created, ${milliseconds('expires_at')} AS expires
       FROM ${this.#tokens} WHERE hash = ${textLiteral(hash)} LIMIT 1`,
      signal,
    });
    const live = row === undefined ? null : await this.find(row.session, now, signal);
    if (row === undefined || live === null || live.acting === null) return null;
    const { account, grants } = live.acting;
    return {
      // all tokens of a session have one id, so that they share the limits of one token
      id: `session-${row.session.slice(0, 16)}`,
      hash,
      userId: account.id,
      name: 'session',
      ...(grants && { grants }),
      createdAt: new Date(row.created),
      expiresAt: new Date(row.expires),
      revokedAt: null,
      ofSession: true,
    };
  }

  #write(session: Session, ended: boolean): Promise<void> {
    const lines = rowLine([
      session.hash,
      session.userId,
      session.userVersion,
      timestampText(session.createdAt),
      timestampText(session.usedAt),
      timestampText(session.expiresAt),
      session.accountId,
      session.agent,
      session.address,
      ended ? 1 : 0,
      ended ? lastVersion : session.usedAt.getTime(),
    ]);
    return this.#deps.db.insert({ table: this.#table, columns, lines });
  }

  async #select(condition: string, now: Date, signal?: AbortSignal): Promise<Session[]> {
    const sql = `SELECT ${selection} FROM ${this.#table} FINAL WHERE ${condition} AND NOT ended ORDER BY used_at DESC`;
    const rows = await this.#deps.db.rows<SessionRow>({ sql, signal });
    return rows.map(sessionOf).filter((session) => !isOver(session, now));
  }
}

function sessionOf(row: SessionRow): Session {
  const [createdAt, usedAt, expiresAt] = [
    new Date(row.createdAt),
    new Date(row.usedAt),
    new Date(row.expiresAt),
  ];
  return { ...row, createdAt, usedAt, expiresAt };
}

function isOver({ usedAt, expiresAt }: Session, now: Date): boolean {
  return expiresAt <= now || usedAt.getTime() + idleTimeout <= now.getTime();
}
