import { LRUCache } from 'lru-cache';
import { type AccessToken, hashToken } from './access-tokens.ts';
import { isOfKind } from './sealed-token.ts';
import type { SessionStore } from './session-store.ts';
import type { CheckedToken, TokenCheck } from './token-check.ts';
import type { TokenGate } from './token-gate.ts';

/**
 * Milliseconds for which a look at the store is good: a session that ends takes its tokens with it everywhere within a
 * second, whether anything tells of it or not. They are few, and a browser sends few requests.
 */
const trustFor = 800;
const cachedTokens = 10_000;

interface Seen {
  readonly token: AccessToken | null;
  readonly lookedAt: number;
}

/** Checks the access tokens of sessions, and leaves all others to `others`. */
export function withSessionTokens(
  others: TokenCheck,
  { sessions, gate }: { readonly sessions: Pick<SessionStore, 'findToken'>; readonly gate: TokenGate },
): TokenCheck {
  const known = new LRUCache<string, Seen>({ max: cachedTokens });
  const lookups = new Map<string, { readonly seen: Promise<Seen>; readonly began: number }>();
  const isFresh = (at: number): boolean => performance.now() - at <= trustFor;

  const look = async (hash: string): Promise<Seen> => {
    const lookedAt = performance.now();
    const seen = { token: await sessions.findToken(hash), lookedAt };
    known.set(hash, seen);
    return seen;
  };
  const lookUp = (hash: string): Promise<Seen> => {
    const underWay = lookups.get(hash);
    if (underWay !== undefined && isFresh(underWay.began)) return underWay.seen;
    const lookup = {
      began: performance.now(),
      seen: look(hash).finally(() => {
        if (lookups.get(hash) === lookup) lookups.delete(hash);
      }),
    };
    lookups.set(hash, lookup);
    return lookup.seen;
  };
  const judge = ({ token }: Seen): CheckedToken => {
    if (token === null) return 'unknown';
    return token.expiresAt !== null && token.expiresAt <= new Date() ? 'expired' : token;
  };
  const cached = (hash: string): Seen | undefined => {
    const seen = known.get(hash);
    return seen !== undefined && isFresh(seen.lookedAt) ? seen : undefined;
  };

  return {
    checkKnown(text) {
      if (!isOfKind(text, 'web')) return others.checkKnown(text);
      const seen = cached(hashToken(text));
      return seen === undefined ? null : judge(seen);
    },
    async check(text, signal) {
      if (!isOfKind(text, 'web')) return others.check(text, signal);
      const hash = hashToken(text);
      const seen = cached(hash);
      if (seen !== undefined) return judge(seen);
      if (!(await gate.admits(text, hash))) return 'unknown';
      const found = await lookUp(hash);
      signal.throwIfAborted();
      return judge(found);
    },
    invalidate: (hash) => others.invalidate(hash),
    close: () => others.close(),
  };
}
