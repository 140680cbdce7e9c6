import { randomUUID } from 'node:crypto';
import type { Database } from '#engine/database.ts';
import { textLiteral } from '#engine/literal.ts';
import type { Grants } from '#kernel/grants.ts';
import { rowLine, timestampText } from '#kernel/ids/row-values.ts';
import { storeVersion } from './store-version.ts';

/** `invitation`: its user becomes a member of the account. `email`: the account gets the e-mail address. */
export type LinkKind = 'invitation' | 'email';

/** A link for one person and one use, without its secret. */
export interface AccountLink {
  readonly id: string;
  /** SHA-256 of its token, in hex. */
  readonly hash: string;
  readonly kind: LinkKind;
  readonly accountId: string;
  /** Of the person who may use it. Lower case. */
  readonly email: string;
  /** Absent: everything. */
  readonly grants?: Grants;
  readonly manages: boolean;
  /** The id of the user who made it. */
  readonly madeBy: string;
  readonly state: 'open' | 'used' | 'withdrawn';
  /** The id of the user who used it; empty: nobody. */
  readonly usedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly version: number;
}

type NewLink = Pick<
  AccountLink,
  'hash' | 'kind' | 'accountId' | 'email' | 'manages' | 'madeBy' | 'expiresAt'
> & {
  readonly grants: Grants | undefined;
};

interface Row extends Omit<AccountLink, 'grants' | 'manages' | 'createdAt' | 'expiresAt'> {
  readonly grants: string;
  readonly manages: number | boolean;
  readonly created: number;
  readonly expires: number;
  readonly writer: string;
}

const columns = [
  'id',
  'hash',
  'kind',
  'account_id',
  'email',
  'grants',
  'manages',
  'made_by',
  'state',
  'used_by',
  'created_at',
  'expires_at',
  'writer',
  'version',
];
const milliseconds = (column: string): string => `toFloat64(toUnixTimestamp64Milli(${column}))`;
const selection = `id, hash, kind, account_id AS accountId, email, grants, toUInt8(manages) AS manages,
  made_by AS madeBy, state, used_by AS usedBy, ${milliseconds('created_at')} AS created,
  ${milliseconds('expires_at')} AS expires, writer, toFloat64(version) AS version`;

/** Links by which a person joins an account, or confirms an e-mail address. */
export class AccountLinks {
  readonly #db: Database;
  readonly #table: string;

  constructor({ db, database }: { readonly db: Database; readonly database: string }) {
    this.#db = db;
    this.#table = `${database}.account_links`;
  }

  async create({ grants, ...link }: NewLink): Promise<AccountLink> {
    const made: AccountLink = {
      ...link,
      ...(grants && { grants }),
      id: randomUUID(),
      state: 'open',
      usedBy: '',
      createdAt: new Date(),
      version: 0,
    };
    await this.#store(made);
    return made;
  }

  /** Also a link that was used, withdrawn or has expired. @param hash of the token */
  findByHash(hash: string, signal?: AbortSignal): Promise<AccountLink | null> {
    return this.#find(`hash = ${textLiteral(hash)}`, signal);
  }

  findById(id: string, signal?: AbortSignal): Promise<AccountLink | null> {
    return this.#find(`id = ${textLiteral(id)}`, signal);
  }

  /** Links of an account that can still be used, the newest first. */
  async open(
    kind: LinkKind,
    accountId: string,
    now: Date,
    signal?: AbortSignal,
  ): Promise<readonly AccountLink[]> {
    const of = `kind = ${textLiteral(kind)} AND account_id = ${textLiteral(accountId)} AND state = 'open'`;
    const links = await this.#select(`${of} ORDER BY created_at DESC`, signal);
    return links.map(linkOf).filter(({ expiresAt }) => expiresAt > now);
  }

  /** The number of links of an account that were made since then, open or not. */
  async madeSince(kind: LinkKind, accountId: string, since: Date, signal?: AbortSignal): Promise<number> {
    const of = `kind = ${textLiteral(kind)} AND account_id = ${textLiteral(accountId)}`;
    const made = `created_at >= toDateTime64(${textLiteral(timestampText(since))}, 3, 'UTC')`;
    const sql = `SELECT toFloat64(uniqExact(id)) AS links FROM ${this.#table} WHERE ${of} AND ${made}`;
    return (await this.#db.rows<{ links: number }>({ sql, signal }))[0]?.links ?? 0;
  }

  /** Ends a link. False: another request has ended it before. */
  end(link: AccountLink, state: 'used' | 'withdrawn', usedBy = ''): Promise<boolean> {
    return this.#store({ ...link, state, usedBy, version: link.version + 1 });
  }

  /** Removes the links of an account, and those that its user made. */
  async removeAll(id: string, signal: AbortSignal): Promise<void> {
    const either = `account_id = ${textLiteral(id)} OR made_by = ${textLiteral(id)} OR used_by = ${textLiteral(id)}`;
    await this.#db.command({ sql: `DELETE FROM ${this.#table} WHERE ${either}`, signal });
  }

  #store(link: AccountLink): Promise<boolean> {
    const { id, version } = link;
    return storeVersion({
      db: this.#db,
      key: id,
      version,
      insert: (writer) => ({ table: this.#table, columns, lines: lineOf(link, writer) }),
      newest: async () => (await this.#select(`id = ${textLiteral(id)}`))[0] ?? null,
    });
  }

  async #find(condition: string, signal?: AbortSignal): Promise<AccountLink | null> {
    const [row] = await this.#select(`${condition} LIMIT 1`, signal);
    return row === undefined ? null : linkOf(row);
  }

  #select(condition: string, signal?: AbortSignal): Promise<Row[]> {
    const sql = `SELECT ${selection} FROM ${this.#table} FINAL WHERE ${condition}`;
    return this.#db.rows<Row>({ sql, signal });
  }
}

function lineOf(link: AccountLink, writer: string): Uint8Array {
  const { id, hash, kind, accountId, email, grants, manages, madeBy, state, usedBy, version } = link;
  return rowLine([
    id,
    hash,
    kind,
    accountId,
    email,
    grants === undefined ? '' : JSON.stringify(grants),
    manages ? 1 : 0,
    madeBy,
    state,
    usedBy,
    timestampText(link.createdAt),
    timestampText(link.expiresAt),
    writer,
    version,
  ]);
}

function linkOf({ grants, manages, created, expires, writer: _, ...row }: Row): AccountLink {
  const granted = grants === '' ? {} : { grants: JSON.parse(grants) as Grants };
  const times = { createdAt: new Date(created), expiresAt: new Date(expires) };
  return { ...row, ...granted, manages: Boolean(manages), ...times };
}
