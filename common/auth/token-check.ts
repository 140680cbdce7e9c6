import { LRUCache } from 'lru-cache';
import { type IsClosed, noneClosed } from '#catalogue/closed-accounts.ts';
import { Freshness, type ReadMoment } from '#coordination/redis/freshness.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import type { Log } from '#kernel/log/log.ts';
import { CacheCounts } from '#kernel/telemetry/cache-counts.ts';
import { type AccessToken, type AccessTokens, hashToken } from './access-tokens.ts';
import { isOfKind } from './sealed-token.ts';
import type { SessionStore } from './session-store.ts';
import { type SharedTokens, unshared } from './shared-tokens.ts';
import type { TokenGate } from './token-gate.ts';
import { TokenUses } from './token-uses.ts';

/** The stored token, or the reason for refusing it. */
export type CheckedToken = AccessToken | 'unknown' | 'expired' | 'revoked';

/** Milliseconds for which the store's answer about a token is trusted. */
export const tokenTrust = {
  /** This process is the only one of its store, so every revocation goes through it. */
  singleWriter: 5000,
  /** Other processes may revoke unannounced: a revoked token stops working everywhere within a second. */
  polled: 800,
  /** Other processes may revoke, and would announce it. */
  subscribed: 5000,
  /** The end of a session is not announced. Its tokens are few, and a browser sends few requests. */
  session: 800,
} as const;

const cachedTokens = 65_536;
const unknownFor = 2_000;

/** The answer of the store or of Redis about a token. */
interface CachedToken {
  /** Null: there is no such token. */
  readonly token: AccessToken | null;
  readonly read: ReadMoment;
  /** How long the answer is trusted when changes are not announced. Milliseconds. */
  readonly trustedFor: number;
}

export interface TokenCheckDeps {
  readonly tokens: AccessTokens;
  /** Sessions, whose access tokens end with them. */
  readonly sessions: Pick<SessionStore, 'findToken'>;
  readonly log: Log;
  /** Whether no other process can revoke tokens of this store. */
  readonly singleWriter: boolean;
  /** Announces revocations to all processes. */
  readonly invalidation?: Invalidation;
  /** Tokens that other processes looked up. */
  readonly shared?: SharedTokens;
  readonly gate: TokenGate;
  /** Accounts whose tokens are refused. */
  readonly closed?: IsClosed;
  readonly counts?: CacheCounts;
}

/** Checks access tokens, including those of sessions, with a cache in front of the store. */
export class TokenCheck {
  readonly #deps: Required<TokenCheckDeps>;
  readonly #trustFor: number;
  readonly #freshness: Freshness;
  readonly #uses: TokenUses;
  readonly #known = new LRUCache<string, CachedToken>({ ...upTo(cachedTokens) });
  /** Separate, so that guessed tokens can't evict valid ones. */
  readonly #unknown = new LRUCache<string, CachedToken>({ ...upTo(cachedTokens) });
  readonly #lookups = new Map<string, { readonly cached: Promise<CachedToken>; readonly until: number }>();

  constructor(deps: TokenCheckDeps) {
    this.#deps = {
      invalidation: unannounced,
      shared: unshared,
      closed: noneClosed,
      counts: new CacheCounts(),
      ...deps,
    };
    this.#trustFor = deps.singleWriter ? tokenTrust.singleWriter : tokenTrust.polled;
    this.#freshness = new Freshness({
      invalidation: this.#deps.invalidation,
      announcedFor: tokenTrust.subscribed,
      otherwiseFor: this.#trustFor,
    });
    this.#uses = new TokenUses(deps.tokens, deps.log);
  }

  /** The stored token, or the reason why it is refused. */
  async check(text: string, signal: AbortSignal): Promise<CheckedToken> {
    const { gate } = this.#deps;
    const hash = hashToken(text);
    let cached = this.#cached(hash);
    if (cached === null) {
      if (!(await gate.admits(text, hash))) return 'unknown';
      cached = await this.#lookUp(hash, isOfKind(text, 'web'));
      signal.throwIfAborted();
    }
    return this.#judge(hash, cached);
  }

  /** Like `check`, but synchronous, for a cached token; null for others. */
  checkKnown(text: string): CheckedToken | null {
    const hash = hashToken(text);
    const cached = this.#deps.counts.count(this.#cached(hash));
    return cached === null ? null : this.#judge(hash, cached);
  }

  /**
   * Drops a revoked or new token from the caches: at once in this process. Resolves when the others have dropped it too,
   * or with false when they could not be reached.
   */
  async invalidate(hash: string): Promise<boolean> {
    this.#known.delete(hash);
    this.#unknown.delete(hash);
    this.#lookups.delete(hash);
    return this.#freshness.changed(hash);
  }

  close(): Promise<void> {
    return this.#uses.close();
  }

  #cached(hash: string): CachedToken | null {
    for (const cache of [this.#known, this.#unknown]) {
      const cached = cache.get(hash);
      if (cached === undefined) continue;
      if (this.#trusts(hash, cached)) return cached;
      cache.delete(hash);
    }
    return null;
  }

  #trusts(hash: string, { token, read, trustedFor }: CachedToken): boolean {
    if (token === null && performance.now() - read.began > unknownFor) return false;
    return this.#freshness.isFresh(hash, read, trustedFor);
  }

  #lookUp(hash: string, ofSession: boolean): Promise<CachedToken> {
    const underWay = this.#lookups.get(hash);
    const now = performance.now();
    // the result of a slow look-up may already be outdated
    if (underWay !== undefined && now <= underWay.until) return underWay.cached;
    const begun = this.#freshness.begin();
    const lookup = {
      until: now + (ofSession ? tokenTrust.session : this.#trustFor),
      cached: (ofSession ? this.#readSession(hash) : this.#read(hash))
        .then((cached) => {
          if (this.#freshness.mayKeep(begun))
            (cached.token === null ? this.#unknown : this.#known).set(hash, cached);
          return cached;
        })
        .finally(() => {
          if (this.#lookups.get(hash) === lookup) this.#lookups.delete(hash);
        }),
    };
    this.#lookups.set(hash, lookup);
    return lookup.cached;
  }

  async #read(hash: string): Promise<CachedToken> {
    const { tokens, log, invalidation, shared } = this.#deps;
    const begun = this.#freshness.begin();
    const found = invalidation.isCurrent() ? await shared.get(hash) : null;
    if (found !== null && !invalidation.changedSince(hash, found.position)) {
      // the store itself was read at an unknown time: only announcements vouch for it
      const { token, position } = found;
      return { token, read: { ...begun, position }, trustedFor: Number.NEGATIVE_INFINITY };
    }
    const read = this.#freshness.begin();
    const { position } = read;
    const token = await tokens.findByHash(hash);
    // nobody waits for it; unknown tokens are not shared, so guessing fills nothing
    if (token !== null && position !== null && this.#freshness.mayKeep(read)) {
      shared.put(token, position).catch((error: unknown) => {
        log.warn({ err: error }, 'an access token could not be put into Redis');
      });
    }
    return { token, read, trustedFor: this.#trustFor };
  }

  async #readSession(hash: string): Promise<CachedToken> {
    // the end of a session is not announced
    const read = { ...this.#freshness.begin(), position: null };
    const token = await this.#deps.sessions.findToken(hash);
    return { token, read, trustedFor: tokenTrust.session };
  }

  #judge(hash: string, { token }: CachedToken): CheckedToken {
    if (token === null) return 'unknown';
    const now = new Date();
    if (token.revokedAt !== null || this.#deps.closed.has(token.userId)) return 'revoked';
    if (token.expiresAt !== null && token.expiresAt <= now) return 'expired';
    if (token.ofSession !== true) this.#uses.note(hash, now);
    return token;
  }
}
