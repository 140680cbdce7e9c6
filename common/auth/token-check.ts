import { LRUCache } from 'lru-cache';
import type { Log } from '../log/log.ts';
import { type AccessToken, type AccessTokens, hashToken } from './access-tokens.ts';

/** Tells whom an access token belongs to, without asking the store for one that was just seen. */
export interface TokenCheck {
  /** The stored token, or the reason why it is refused. */
  check(token: string, signal: AbortSignal): Promise<AccessToken | 'unknown' | 'expired' | 'revoked'>;
  /** Forgets what is cached of a token, because it was revoked. */
  invalidate(hash: string): void;
  close(): Promise<void>;
}

const cachedTokens = 65_536;
/** How long a token that is revoked by another process may still pass. */
const validFor = 5_000;
const unknownFor = 2_000;
const flushUsesEvery = 60_000;

export function createTokenCheck({ tokens, log }: { tokens: AccessTokens; log: Log }): TokenCheck {
  const known = new LRUCache<string, AccessToken>({ max: cachedTokens, ttl: validFor });
  // apart, so that guessing tokens can't push out the good ones
  const unknown = new LRUCache<string, true>({ max: cachedTokens, ttl: unknownFor });
  const lookups = new Map<string, Promise<AccessToken | null>>();
  let uses = new Map<string, Date>();
  /** Counts revocations: a lookup that began before one must not be cached after it. */
  let revocations = 0;

  const lookUp = (hash: string): Promise<AccessToken | null> => {
    const underWay = lookups.get(hash);
    if (underWay !== undefined) return underWay;
    const before = revocations;
    const lookup = tokens
      .findByHash(hash)
      .then((token) => {
        if (before === revocations) {
          if (token === null) unknown.set(hash, true);
          else known.set(hash, token);
        }
        return token;
      })
      .finally(() => lookups.delete(hash));
    lookups.set(hash, lookup);
    return lookup;
  };

  const flushUses = async (): Promise<void> => {
    const flushed = uses;
    uses = new Map();
    try {
      await tokens.noteUses(flushed);
    } catch (error) {
      log.warn({ err: error }, 'the last use of access tokens could not be noted');
    }
  };
  const flusher = setInterval(() => void flushUses(), flushUsesEvery);
  flusher.unref();

  return {
    async check(text, signal) {
      const hash = hashToken(text);
      let token = known.get(hash) ?? null;
      if (token === null) {
        if (unknown.has(hash)) return 'unknown';
        token = await lookUp(hash);
        signal.throwIfAborted();
        if (token === null) return 'unknown';
      }
      const now = new Date();
      if (token.revokedAt !== null) return 'revoked';
      if (token.expiresAt !== null && token.expiresAt <= now) return 'expired';
      if (uses.size < cachedTokens) uses.set(hash, now);
      return token;
    },
    invalidate(hash) {
      revocations++;
      known.delete(hash);
      unknown.delete(hash);
      lookups.delete(hash);
    },
    async close() {
      clearInterval(flusher);
      await flushUses();
    },
  };
}
