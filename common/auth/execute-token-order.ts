import type { Account, Users } from '#catalogue/users.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { type Grants, grantsInWords } from '#kernel/grants.ts';
import { type AccessToken, type AccessTokens, hashToken, type ReadLimitsOfToken } from './access-tokens.ts';
import type { TokenCheck } from './token-check.ts';

/** The address of the account that the first start makes, until somebody claims it. The id never changes. */
export const developerEmail = 'developer@localhost';

/** Redis caches a token for a minute, and then a process for five seconds. */
const notPublished =
  'Redis does not answer: other processes may accept the token for another 70 seconds at most';

/** The commands of `npm run token`. */
export type TokenOrder =
  | {
      readonly action: 'create';
      /** Null: the account of the first start. */
      readonly email: string | null;
      readonly createUser: boolean;
      readonly name: string;
      /** Milliseconds from now; null: never. */
      readonly expiresIn: number | null;
      /** Absent: the limits of the operator's settings. */
      readonly limits?: ReadLimitsOfToken | undefined;
      /** Absent: everything. */
      readonly grants?: Grants | undefined;
    }
  /** By the token's id, or by the token itself. */
  | { readonly action: 'revoke'; readonly token: string }
  | { readonly action: 'list'; readonly email: string | null };

/**
 * Runs a command. Answers the text to print: the new token, the revoked token's id, or a line for each token.
 * @param tokenCheck of the running server, so that a revocation takes effect at once, there and in other processes
 */
export async function executeTokenOrder(
  services: {
    readonly users: Users;
    readonly tokens: AccessTokens;
    readonly tokenCheck: Pick<TokenCheck, 'invalidate'>;
  },
  order: TokenOrder,
): Promise<string> {
  const { users, tokens, tokenCheck } = services;
  if (order.action === 'revoke') {
    const token = (await tokens.findByHash(hashToken(order.token))) ?? (await tokens.findById(order.token));
    // the text may be a mistyped secret, so it is not quoted
    if (token === null) throw new CommandError('there is no such access token');
    await tokens.revoke(token);
    const published = await tokenCheck.invalidate(token.hash);
    return published ? token.id : `${token.id}\n${notPublished}`;
  }
  const { email } = order;
  let user = await (email === null ? findFirst(users) : users.findByEmail(email));
  if (user === null && order.action === 'create' && order.createUser) {
    user = await users.create({ email: email ?? developerEmail, name: '' });
  }
  if (user === null) throw new CommandError(noAccount(order));
  if (order.action === 'list') return (await tokens.list(user.id)).map(describe).join('\n');
  const expiresAt = order.expiresIn === null ? null : new Date(Date.now() + order.expiresIn);
  const { token, stored } = await tokens.create({
    userId: user.id,
    name: order.name,
    expiresAt,
    limits: order.limits,
    grants: order.grants,
  });
  await tokenCheck.invalidate(stored.hash);
  return token;
}

/** Finds the first account by its id: its e-mail address changes once it is claimed. */
async function findFirst(users: Users): Promise<Account | null> {
  return (await users.findById(await users.idOf(developerEmail))) ?? users.findByEmail(developerEmail);
}

function noAccount({ action, email }: Exclude<TokenOrder, { action: 'revoke' }>): string {
  if (email === null) return 'there is no first account yet: start the server once, or name one with --user';
  return `there is no account ${email}${action === 'create' ? '; --create-user creates it' : ''}`;
}

/** A token's id, name, and past, planned or missing end. */
function describe({ id, name, createdAt, expiresAt, revokedAt, limits, grants }: AccessToken): string {
  const end =
    revokedAt !== null
      ? `revoked ${revokedAt.toISOString()}`
      : expiresAt !== null
        ? `expires ${expiresAt.toISOString()}`
        : 'does not expire';
  const rows = limits?.maxRows === undefined ? '' : `  reads ${limits.maxRows || 'any number of'} records`;
  const time = limits?.timeout === undefined ? '' : `  reads for ${limits.timeout} ms`;
  const granted = grants === undefined ? '' : `  ${grantsInWords(grants)}`;
  return `${id}  created ${createdAt.toISOString()}  ${end}${rows}${time}${granted}  ${name}`;
}

/**
 * Makes the developer account and its access token on a store that has no token yet.
 * Answers the token, which is shown only once, or null when there is nothing to do.
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
    // two processes that start on an empty store at once may both get here: the fixed id makes it one account
    (await users.create({ email: developerEmail, name: 'Developer' }));
  const created = await tokens.create({ userId: user.id, name: 'first token', expiresAt: null, token });
  return created.token;
}
