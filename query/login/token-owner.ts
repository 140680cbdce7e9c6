import type { LoginTokens } from '../../common/auth/login-tokens.ts';
import type { RecordReader } from '../records/record-reader.ts';
import type { RecordSpace } from '../structure/record-space.ts';

/**
 * The record of the user whom a login token speaks for, as JSON text. Null when the token is none, has expired, is of
 * another account, project or space, or when the user is gone.
 */
export async function tokenOwner(
  { reader, loginTokens }: { reader: RecordReader; loginTokens: LoginTokens },
  users: RecordSpace,
  token: string,
  signal: AbortSignal,
): Promise<string | null> {
  const claims = await loginTokens.verify(token);
  if (claims === null || claims.spaceId !== users.id || claims.projectId !== users.projectId) return null;
  return reader.byId(users, claims.recordId, signal);
}
