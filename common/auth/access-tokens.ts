import { hash as oneShotHash, randomUUID } from 'node:crypto';
import type { Database } from '../clickhouse/database.ts';
import { textLiteral } from '../clickhouse/literal.ts';
import type { Deployment } from '../metadata/deployment.ts';
import { rowLine, timestampText } from '../metadata/row-values.ts';
import { sealedToken } from './sealed-token.ts';

/** An access token as it is stored: never the token itself. */
export interface AccessToken {
  readonly id: string;
  /** SHA-256 of the token, in hex. */
  readonly hash: string;
  readonly userId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** It ends with a session of the dashboard, and is no token that anybody made. */
  readonly ofSession?: true;
}

export interface AccessTokens {
  /** Makes a token. Its text is in the answer and nowhere else. @param token a given text instead of a random one */
  create(args: {
    userId: string;
    name: string;
    expiresAt: Date | null;
    token?: string | undefined;
  }): Promise<{ token: string; stored: AccessToken }>;
  findByHash(hash: string, signal?: AbortSignal): Promise<AccessToken | null>;
  findById(id: string, signal?: AbortSignal): Promise<AccessToken | null>;
  /** All tokens of a user, oldest first. */
  list(userId: string): Promise<readonly AccessToken[]>;
  /** When tokens were last used, by their hashes, as far as it has been noted. */
  lastUses(tokens: readonly AccessToken[], signal?: AbortSignal): Promise<ReadonlyMap<string, Date>>;
  /** SHA-256, in hex, of tokens without a checksum. @param limit more are left out */
  unsealedHashes(limit: number): Promise<readonly string[]>;
  /** Whether any token was ever made. */
  any(): Promise<boolean>;
  /** Ends a token for good. */
  revoke(token: AccessToken): Promise<void>;
  /** Notes when tokens were last used. */
  noteUses(uses: ReadonlyMap<string, Date>): Promise<void>;
}

/** SHA-256 in hex. A fast hash is enough for 256 random bits. */
export function hashToken(token: string): string {
  return oneShotHash('sha256', token);
}

interface TokenRow {
  id: string;
  hash: string;
  user_id: string;
  name: string;
  created: number;
  expires: number | null;
  revoked: number | null;
}

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
];

export function createAccessTokens(args: {
  db: Database;
  database: string;
  deployment: Pick<Deployment, 'secret'>;
}): AccessTokens {
  const { db, database, deployment } = args;
  const table = `${database}.access_tokens`;

  const write = (token: AccessToken, sealed: boolean): Promise<void> =>
    db.insert({
      table,
      columns,
      lines: rowLine([
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
      ]),
    });

  const select = async (condition: string, signal?: AbortSignal): Promise<AccessToken[]> => {
    const rows = await db.rows<TokenRow>({
      sql: `SELECT id, hash, user_id, name, toUnixTimestamp64Milli(created_at) AS created,
         toUnixTimestamp64Milli(expires_at) AS expires, toUnixTimestamp64Milli(revoked_at) AS revoked
       FROM ${table} FINAL WHERE ${condition}`,
      signal,
    });
    return rows.map((row) => ({
      id: row.id,
      hash: row.hash,
      userId: row.user_id,
      name: row.name,
      createdAt: new Date(row.created),
      expiresAt: row.expires === null ? null : new Date(row.expires),
      revokedAt: row.revoked === null ? null : new Date(row.revoked),
    }));
  };
  const find = async (condition: string, signal?: AbortSignal): Promise<AccessToken | null> =>
    (await select(`${condition} LIMIT 1`, signal))[0] ?? null;

  return {
    async create({ userId, name, expiresAt, token: given }) {
      const token = given ?? sealedToken(deployment.secret);
      const stored: AccessToken = {
        id: randomUUID(),
        hash: hashToken(token),
        userId,
        name,
        createdAt: new Date(),
        expiresAt,
        revokedAt: null,
      };
      await write(stored, given === undefined);
      return { token, stored };
    },
    findByHash: (hash, signal) => find(`hash = ${textLiteral(hash)}`, signal),
    findById: (id, signal) => find(`id = ${textLiteral(id)}`, signal),
    list: (userId) => select(`user_id = ${textLiteral(userId)} ORDER BY created_at, id`),
    async unsealedHashes(limit) {
      const rows = await db.rows<{ hash: string }>({
        sql: `SELECT DISTINCT hash FROM ${table} WHERE NOT sealed LIMIT ${limit}`,
      });
      return rows.map(({ hash }) => hash);
    },
    async any() {
      return (await db.rows({ sql: `SELECT 1 AS one FROM ${table} LIMIT 1` })).length > 0;
    },
    async revoke(token) {
      // whether it has a checksum makes no difference any more
      await write({ ...token, revokedAt: new Date() }, false);
    },
    async lastUses(list, signal) {
      if (list.length === 0) return new Map();
      const among = list.map(({ hash }) => textLiteral(hash)).join(', ');
      const rows = await db.rows<{ hash: string; used: number }>({
        sql: `SELECT hash, toFloat64(toUnixTimestamp64Milli(max(last_used_at))) AS used
         FROM ${database}.access_token_uses WHERE hash IN (${among}) GROUP BY hash`,
        signal,
      });
      return new Map(rows.map(({ hash, used }) => [hash, new Date(used)]));
    },
    async noteUses(uses) {
      if (uses.size === 0) return;
      const lines = [...uses].map(([hash, at]) => rowLine([hash, timestampText(at)]));
      await db.insert({
        table: `${database}.access_token_uses`,
        columns: ['hash', 'last_used_at'],
        lines: Buffer.concat(lines),
      });
    },
  };
}
