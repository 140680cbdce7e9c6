import type { Deployment } from '#catalogue/deployment.ts';
import { pacedRefresh } from '#kernel/limits/paced-refresh.ts';
import type { AccessTokens } from './access-tokens.ts';
import { isSealed } from './sealed-token.ts';

/** Refuses made-up tokens by their checksum, because a look-up in the store takes milliseconds. */
export interface TokenGate {
  /** Whether a token could be genuine. Rejects if that takes a read of the store, and the store does not respond. */
  admits(token: string, hash: string): Promise<boolean>;
}

/** Least milliseconds between two reads of the store, however many made-up tokens arrive. */
const refreshInterval = 250;
/** Most remembered tokens without a checksum; beyond that, every token is looked up. */
export const mostUnsealed = 100_000;

/**
 * Admits tokens with a valid checksum, and the few stored tokens without one: configured tokens, and tokens of earlier
 * versions. Those are read again before a token is refused.
 * @param args.alone no other process writes to the store, and the configured token was made before: one read is enough
 */
export function createTokenGate(args: {
  tokens: Pick<AccessTokens, 'unsealedHashes'>;
  deployment: Pick<Deployment, 'secret'>;
  singleWriter?: boolean;
}): TokenGate {
  const { tokens, deployment, singleWriter = false } = args;
  let unsealed: ReadonlySet<string> = new Set();
  let loaded = false;
  const refresh = pacedRefresh(async () => {
    unsealed = new Set(await tokens.unsealedHashes(mostUnsealed));
    loaded = true;
  }, refreshInterval);
  const known = (token: string, hash: string): boolean =>
    unsealed.has(hash) || isSealed(token, deployment.secret);
  return {
    async admits(token, hash) {
      if (known(token, hash)) return true;
      if (!singleWriter || !loaded) await refresh();
      return unsealed.size >= mostUnsealed || known(token, hash);
    },
  };
}
