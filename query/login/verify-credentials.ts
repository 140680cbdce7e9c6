import { randomBytes } from 'node:crypto';
import type { Database } from '../../common/clickhouse/database.ts';
import { quoteIdentifier } from '../../common/clickhouse/literal.ts';
import type { Conditions } from '../input/parse-conditions.ts';
import type { Hasher } from '../records/hasher.ts';
import { conditionsSql } from '../sql/condition-sql.ts';
import { recordExpression } from '../sql/record-sql.ts';
import type { RecordSpace } from '../structure/record-space.ts';

export interface User {
  readonly id: string;
  /** Without hashed fields. */
  readonly json: string;
}

/** Finds the user that credentials stand for; null when there is none, or a hashed value is wrong. */
export type VerifyCredentials = (
  space: RecordSpace,
  conditions: Conditions,
  signal: AbortSignal,
) => Promise<User | null>;

interface Row {
  _id: string;
  _user: string;
  _hashes: (string | null)[];
}

/**
 * The work does not depend on what is found: one query, and one verification for every hashed value, against a hash
 * that nothing fits where there is no user or no stored value. So neither the answer nor its time tells whether
 * a user exists. Where several records have the values, the oldest is meant.
 */
export function createVerifyCredentials({ db, hasher }: { db: Database; hasher: Hasher }): VerifyCredentials {
  let dummy: Promise<string> | null = null;
  const dummyHash = (): Promise<string> => {
    dummy ??= hasher
      .hashValues([randomBytes(32).toString('base64')], new AbortController().signal)
      .then(([hash]) => hash as string);
    dummy.catch(() => {
      dummy = null;
    });
    return dummy;
  };

  return async (space, conditions, signal) => {
    // made before the first look at a record, so that the first attempt of all shows nothing either
    const nothingFits = await dummyHash();
    const columns = conditions.hashed.map(({ field }) => quoteIdentifier(field.slug));
    const [row] = await db.rows<Row>(
      `SELECT _id, ${recordExpression(space.structure)} AS _user, [${columns.join(', ')}] AS _hashes
       FROM ${space.table} WHERE ${conditionsSql(conditions)} ORDER BY _id LIMIT 1`,
      signal,
      space.table,
    );
    let right = row !== undefined;
    for (const [index, { value }] of conditions.hashed.entries()) {
      const stored = row?._hashes[index] ?? null;
      const verified = await hasher.verifyValue(stored ?? nothingFits, value, signal);
      right = right && stored !== null && verified;
    }
    return row !== undefined && right ? { id: row._id, json: row._user } : null;
  };
}
