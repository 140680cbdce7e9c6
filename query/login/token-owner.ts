import type { LoginTokens } from '../../common/auth/login-tokens.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { findFirst } from '../records/find-first.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/**
 * The record of the user whom a login token speaks for, as JSON text. Null when the token is none, has expired, is of
 * another account, project or space, or when the user is gone.
 */
export async function tokenOwner(
  { db, loginTokens }: { db: Database; loginTokens: LoginTokens },
  users: RecordSpace,
  token: string,
  signal: AbortSignal,
): Promise<string | null> {
  const claims = await loginTokens.verify(token);
  if (claims === null || claims.spaceId !== users.id || claims.projectId !== users.projectId) return null;
  return findFirst(db, users, `_id = ${textLiteral(claims.recordId)}`, signal);
}
