import { randomUUID } from 'node:crypto';
import type { Database } from '../clickhouse/database.ts';
import { textLiteral } from '../clickhouse/literal.ts';
import { rowLine, timestampText } from './row-values.ts';

/** An account of the service: it owns projects and access tokens. */
export interface User {
  readonly id: string;
  /** Lower case; unique. */
  readonly email: string;
}

export interface Users {
  findByEmail(email: string): Promise<User | null>;
  /** @param id of an account that several processes may make at once: then it is the same one */
  create(args: { email: string; name: string; id?: string }): Promise<User>;
}

export function createUsers({ db, database }: { db: Database; database: string }): Users {
  const table = `${database}.users`;
  return {
    async findByEmail(email) {
      const [user] = await db.rows<User>({
        sql: `SELECT id, email FROM ${table} FINAL WHERE email = ${textLiteral(email.toLowerCase())}
         ORDER BY created_at LIMIT 1`,
      });
      return user ?? null;
    },
    async create({ email, name, id = randomUUID() }) {
      const user = { id, email: email.toLowerCase() };
      const now = timestampText(new Date());
      await db.insert({
        table,
        columns: ['id', 'email', 'name', 'password_hash', 'created_at', 'updated_at', 'version'],
        lines: rowLine([user.id, user.email, name, '', now, now, 0]),
      });
      return user;
    },
  };
}
