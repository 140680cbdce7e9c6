import type { Users } from '../metadata/users.ts';
import type { AccessTokens } from './access-tokens.ts';
import { developerEmail } from './issue-token.ts';

/**
 * Makes the developer account and its access token on a store that has no token yet.
 * Answers the token, which is shown this once, or null when there is nothing to do.
 */
export async function bootstrap(args: {
  users: Users;
  tokens: AccessTokens;
  token: string | undefined;
}): Promise<string | null> {
  const { users, tokens, token } = args;
  if (await tokens.any()) return null;
  const user =
    (await users.findByEmail(developerEmail)) ??
    // of two processes that start on an empty store at once both may get here: one id makes them one account
    (await users.create({ email: developerEmail, name: 'Developer' }));
  const created = await tokens.create({ userId: user.id, name: 'first token', expiresAt: null, token });
  return created.token;
}
