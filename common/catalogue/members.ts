import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Grants } from '#kernel/grants.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { storeVersion } from './store-version.ts';

/** A user who may enter an account that belongs to another user. */
export interface Member {
  readonly accountId: string;
  readonly userId: string;
  /** Absent: everything. */
  readonly grants?: Grants;
  /** Whether the member manages tokens, members and invitations, within these grants. */
  readonly manages: boolean;
  /** The id of the invitation that was accepted. */
  readonly invitation: string;
  /** The member left, or was removed. */
  readonly hasLeft: boolean;
  readonly createdAt: Date;
  readonly version: number;
}

interface Row extends Omit<Member, 'grants' | 'createdAt' | 'manages' | 'hasLeft'> {
  /** JSON; empty: everything. */
  readonly grants: string;
  readonly manages: number | boolean;
  readonly hasLeft: number | boolean;
  readonly created: number;
  readonly writer: string;
}

const columns = [
  'account_id',
  'user_id',
  'grants',
  'manages',
  'invitation',
  'has_left',
  'created_at',
  'writer',
  'version',
];
const selection = `account_id AS accountId, user_id AS userId, grants, toUInt8(manages) AS manages, invitation,
  toUInt8(has_left) AS hasLeft, toFloat64(toUnixTimestamp64Milli(created_at)) AS created, writer,
  toFloat64(version) AS version`;

/** Members of accounts. Nothing is cached, so that a change takes effect with the next look-up. */
export class Members {
  readonly #db: Database;
  readonly #table: string;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#table = `${database}.members`;
  }

  /** Null: the user is not a member. */
  async find(accountId: string, userId: string, signal?: AbortSignal): Promise<Member | null> {
    const member = await this.findAny(accountId, userId, signal);
    return member === null || member.hasLeft ? null : member;
  }

  /** The same, also for a member who has left. */
  async findAny(accountId: string, userId: string, signal?: AbortSignal): Promise<Member | null> {
    const [row] = await this.#select(idOf(accountId, userId), signal);
    return row === undefined ? null : memberOf(row);
  }

  /** The members of an account, the first to join first. */
  ofAccount(accountId: string, signal?: AbortSignal): Promise<readonly Member[]> {
    return this.#active(`account_id = ${textLiteral(accountId)}`, signal);
  }

  /** The memberships of a user. */
  ofUser(userId: string, signal?: AbortSignal): Promise<readonly Member[]> {
    return this.#active(`user_id = ${textLiteral(userId)}`, signal);
  }

  /** Stores a member as its next version. False: another request was first, and nothing was stored. */
  store(member: Member): Promise<boolean> {
    const { accountId, userId, grants, manages, invitation, hasLeft, createdAt, version } = member;
    return storeVersion({
      db: this.#db,
      key: `${accountId}:${userId}`,
      version,
      insert: (writer) => ({
        table: this.#table,
        columns,
        lines: rowLine([
          accountId,
          userId,
          grants === undefined ? '' : JSON.stringify(grants),
          manages ? 1 : 0,
          invitation,
          hasLeft ? 1 : 0,
          timestampText(createdAt),
          writer,
          version,
        ]),
      }),
      newest: async () => (await this.#select(idOf(accountId, userId)))[0] ?? null,
    });
  }

  /** Removes the members of an account, and the memberships of its user. */
  async removeAll(id: string, signal: AbortSignal): Promise<void> {
    const either = `account_id = ${textLiteral(id)} OR user_id = ${textLiteral(id)}`;
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE ${either}`, signal });
  }

  async #active(condition: string, signal?: AbortSignal): Promise<readonly Member[]> {
    return (await this.#select(`${condition} AND NOT has_left ORDER BY created_at`, signal)).map(memberOf);
  }

  #select(condition: string, signal?: AbortSignal): Promise<Row[]> {
    const sql = `SELECT ${selection} FROM ${this.#table} FINAL WHERE ${condition}`;
    return this.#db.rows<Row>({ sql, signal });
  }
}

function idOf(accountId: string, userId: string): string {
  return `account_id = ${textLiteral(accountId)} AND user_id = ${textLiteral(userId)}`;
}

function memberOf({ grants, created, manages, hasLeft, writer: _, ...row }: Row): Member {
  const granted = grants === '' ? {} : { grants: JSON.parse(grants) as Grants };
  return {
    ...row,
    manages: Boolean(manages),
    hasLeft: Boolean(hasLeft),
    ...granted,
    createdAt: new Date(created),
  };
}
