import { LRUCache } from 'lru-cache';
import type { Invalidation, Mark } from '../invalidation/invalidation.ts';
import type { Log } from '../log/log.ts';
import { CacheCounts } from '../metrics/cache-counts.ts';
import { type AccessToken, type AccessTokens, hashToken } from './access-tokens.ts';
import type { SharedTokens } from './shared-tokens.ts';
import type { TokenGate } from './token-gate.ts';

/** The stored token, or the reason why it is refused. */
export type CheckedToken = AccessToken | 'unknown' | 'expired' | 'revoked';

/** Tells whom an access token belongs to, without asking the store for one that was just seen. */
export interface TokenCheck {
  /** The stored token, or the reason why it is refused. */
  check(token: string, signal: AbortSignal): Promise<CheckedToken>;
  /** The same without a wait, for a token that was just seen; null for others. */
  checkKnown(token: string): CheckedToken | null;
  /**
   * Forgets what is cached of a token, because it was revoked or made. This process does so at once; resolves when the
   * others know too, and with false when they could not be reached.
   */
  invalidate(hash: string): Promise<boolean>;
  close(): Promise<void>;
}

/** How processes that share a store tell each other of tokens. */
export interface TokenSharing {
  readonly invalidation: Invalidation;
  readonly tokens: SharedTokens;
}

/** Milliseconds for which a look at the store is good. */
export const tokenTrust = {
  /** The only process of its store: whatever revokes a token does so through it. */
  alone: 5000,
  /** Others may revoke, and nothing tells of it at the moment: a revoked token stops everywhere within a second. */
  polled: 800,
  /** Others may revoke, and would tell. */
  subscribed: 5000,
} as const;

const cachedTokens = 65_536;
const unknownFor = 2_000;
const flushUsesEvery = 60_000;

/** What a look at the store, or at Redis, found. */
interface Seen {
  /** Null: there is no such token. */
  readonly token: AccessToken | null;
  /** Before the look; null: nothing would tell of a change. */
  readonly mark: Mark | null;
  /** When the store was looked at: not before. */
  readonly lookedAt: number;
  readonly keptAt: number;
}

/**
 * @param args.alone whether no other process can revoke tokens of this store
 * @param args.sharing absent: nobody tells this process of what others revoke
 * @param args.gate absent: every token is looked up
 */
export function createTokenCheck(args: {
  tokens: AccessTokens;
  log: Log;
  alone?: boolean;
  sharing?: TokenSharing | undefined;
  gate?: TokenGate;
  counts?: CacheCounts;
}): TokenCheck {
  const { tokens, log, alone = true, sharing, gate, counts = new CacheCounts() } = args;
  const trustFor = alone ? tokenTrust.alone : tokenTrust.polled;
  const known = new LRUCache<string, Seen>({ max: cachedTokens });
  // apart, so that guessing tokens can't push out the good ones
  const unknown = new LRUCache<string, Seen>({ max: cachedTokens });
  const lookups = new Map<string, { readonly seen: Promise<Seen>; readonly began: number }>();
  let uses = new Map<string, Date>();
  /** Counts revocations: a lookup that began before one must not be cached after it. */
  let revocations = 0;

  const trusts = (hash: string, { token, mark, lookedAt, keptAt }: Seen): boolean => {
    const now = performance.now();
    if (token === null && now - lookedAt > unknownFor) return false;
    if (sharing === undefined || mark === null) return now - lookedAt <= trustFor;
    if (sharing.invalidation.changedSince(hash, mark)) return false;
    return (
      now - lookedAt <= trustFor ||
      (sharing.invalidation.isCurrent() && now - keptAt <= tokenTrust.subscribed)
    );
  };

  const look = async (hash: string): Promise<Seen> => {
    const keptAt = performance.now();
    const shared = sharing?.invalidation.isCurrent() ? await sharing.tokens.get(hash) : null;
    if (shared !== null && sharing?.invalidation.changedSince(hash, shared.mark) === false) {
      return { ...shared, keptAt, lookedAt: Number.NEGATIVE_INFINITY };
    }
    const mark = sharing?.invalidation.mark() ?? null;
    const lookedAt = performance.now();
    const before = revocations;
    const token = await tokens.findByHash(hash);
    // nobody waits for it; what is not there was never looked for, so guessing fills nothing
    if (token !== null && mark !== null && before === revocations) {
      sharing?.tokens.put(token, mark).catch((error: unknown) => {
        log.warn({ err: error }, 'an access token could not be put into Redis');
      });
    }
    return { token, mark, lookedAt, keptAt: lookedAt };
  };

  const lookUp = (hash: string): Promise<Seen> => {
    const underWay = lookups.get(hash);
    // what a slow one finds may be over by now
    if (underWay !== undefined && performance.now() - underWay.began <= trustFor) return underWay.seen;
    const before = revocations;
    const lookup = {
      began: performance.now(),
      seen: look(hash)
        .then((seen) => {
          if (before === revocations) (seen.token === null ? unknown : known).set(hash, seen);
          return seen;
        })
        .finally(() => {
          if (lookups.get(hash) === lookup) lookups.delete(hash);
        }),
    };
    lookups.set(hash, lookup);
    return lookup.seen;
  };

  const cached = (hash: string): Seen | null => {
    for (const cache of [known, unknown]) {
      const seen = cache.get(hash);
      if (seen === undefined) continue;
      if (trusts(hash, seen)) return seen;
      cache.delete(hash);
    }
    return null;
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

  const judge = (hash: string, { token }: Seen): CheckedToken => {
    if (token === null) return 'unknown';
    const now = new Date();
    if (token.revokedAt !== null) return 'revoked';
    if (token.expiresAt !== null && token.expiresAt <= now) return 'expired';
    if (uses.size < cachedTokens) uses.set(hash, now);
    return token;
  };

  return {
    checkKnown(text) {
      const hash = hashToken(text);
      const seen = counts.count(cached(hash));
      return seen === null ? null : judge(hash, seen);
    },
    async check(text, signal) {
      const hash = hashToken(text);
      let seen = cached(hash);
      if (seen === null) {
        if (gate !== undefined && !(await gate.admits(text, hash))) return 'unknown';
        seen = await lookUp(hash);
        signal.throwIfAborted();
      }
      return judge(hash, seen);
    },
    async invalidate(hash) {
      revocations++;
      known.delete(hash);
      unknown.delete(hash);
      lookups.delete(hash);
      return sharing?.invalidation.publish(hash) ?? true;
    },
    async close() {
      clearInterval(flusher);
      await flushUses();
    },
  };
}
