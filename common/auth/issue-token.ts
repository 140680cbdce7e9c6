import type { Users } from '../control/users.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { TokenCheck } from './token-check.ts';

/** The account that the first start makes. */
export const developerEmail = 'developer@localhost';

/** What `npm run token` can ask for. */
export type TokenOrder =
  | {
      readonly action: 'create';
      readonly email: string;
      readonly createUser: boolean;
      readonly name: string;
      /** Milliseconds from now; null: never. */
      readonly expiresIn: number | null;
    }
  | { readonly action: 'revoke'; readonly id: string };

/** Refused for a reason that whoever asked should read. */
export class TokenOrderError extends Error {}

export interface TokenDesk {
  /** Carries out an order. Answers the text to print: the new token, or the revoked token's id. */
  execute(order: TokenOrder): Promise<string>;
}

/** @param tokenCheck of the running server, so that a revocation counts at once */
export function createTokenDesk(args: {
  users: Users;
  tokens: AccessTokens;
  tokenCheck?: Pick<TokenCheck, 'invalidate'>;
}): TokenDesk {
  const { users, tokens, tokenCheck } = args;
  return {
    async execute(order) {
      if (order.action === 'revoke') {
        const token = await tokens.findById(order.id);
        if (token === null) throw new TokenOrderError(`there is no access token with the id ${order.id}`);
        await tokens.revoke(token);
        tokenCheck?.invalidate(token.hash);
        return token.id;
      }
      let user = await users.findByEmail(order.email);
      if (user === null && order.createUser) user = await users.create({ email: order.email, name: '' });
      if (user === null) {
        throw new TokenOrderError(`there is no account ${order.email}; --create-user makes it`);
      }
      const expiresAt = order.expiresIn === null ? null : new Date(Date.now() + order.expiresIn);
      const { token, stored } = await tokens.create({ userId: user.id, name: order.name, expiresAt });
      tokenCheck?.invalidate(stored.hash);
      return token;
    },
  };
}
