import { LRUCache } from 'lru-cache';
import { upTo } from '../limits/up-to.ts';
import type { Log } from '../log/log.ts';
import type { Invalidation, StreamPosition } from '../redis/invalidation.ts';
import { CacheCounts } from '../telemetry/cache-counts.ts';
import { type AccessToken, type AccessTokens, hashToken } from './access-tokens.ts';
import { isOfKind } from './sealed-token.ts';
import type { SessionStore } from './session-store.ts';
import type { SharedTokens } from './shared-tokens.ts';
import type { TokenGate } from './token-gate.ts';
import { TokenUses } from './token-uses.ts';

/** The stored token, or the reason why it is refused. */
export type CheckedToken = AccessToken | 'unknown' | 'expired' | 'revoked';

/** Tells whom a token belongs to. */
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
  /** Of a session that ends, nothing tells. Its tokens are few, and a browser sends few requests. */
  session: 800,
} as const;

const cachedTokens = 65_536;
const unknownFor = 2_000;

/** What a look at the store, or at Redis, found. */
interface Seen {
  /** Null: there is no such token. */
  readonly token: AccessToken | null;
  /** Before the look; null: nothing would tell of a change. */
  readonly position: StreamPosition | null;
  /** When the store was looked at: not before. Milliseconds, as the others. */
  readonly lookedAt: number;
  /** How long the look is good where nothing tells of a change. */
  readonly goodFor: number;
  readonly keptAt: number;
}

export interface AccessTokenCheckDeps {
  readonly tokens: AccessTokens;
  /** Whose access tokens end with them. */
  readonly sessions: Pick<SessionStore, 'findToken'>;
  readonly log: Log;
  /** Whether no other process can revoke tokens of this store. */
  readonly alone: boolean;
  /** Absent: nobody tells this process of what others revoke. */
  readonly sharing?: TokenSharing | undefined;
  readonly gate: TokenGate;
  readonly counts?: CacheCounts;
}

/** Checks access tokens, also those of sessions, without asking the store for one that was just seen. */
export class AccessTokenCheck implements TokenCheck {
  readonly #deps: AccessTokenCheckDeps;
  readonly #counts: CacheCounts;
  readonly #trustFor: number;
  readonly #uses: TokenUses;
  readonly #known = new LRUCache<string, Seen>({ ...upTo(cachedTokens) });
  /** Apart, so that guessing tokens can't push out the good ones. */
  readonly #unknown = new LRUCache<string, Seen>({ ...upTo(cachedTokens) });
  readonly #lookups = new Map<string, { readonly seen: Promise<Seen>; readonly until: number }>();
  /** Counts revocations: a lookup that began before one must not be cached after it. */
  #revocations = 0;

  constructor(deps: AccessTokenCheckDeps) {
    this.#deps = deps;
    this.#counts = deps.counts ?? new CacheCounts();
    this.#trustFor = deps.alone ? tokenTrust.alone : tokenTrust.polled;
    this.#uses = new TokenUses(deps.tokens, deps.log);
  }

  async check(text: string, signal: AbortSignal): Promise<CheckedToken> {
    const { gate } = this.#deps;
    const hash = hashToken(text);
    let seen = this.#cached(hash);
    if (seen === null) {
      if (!(await gate.admits(text, hash))) return 'unknown';
      seen = await this.#lookUp(hash, isOfKind(text, 'web'));
      signal.throwIfAborted();
    }
    return this.#judge(hash, seen);
  }

  checkKnown(text: string): CheckedToken | null {
    const hash = hashToken(text);
    const seen = this.#counts.count(this.#cached(hash));
    return seen === null ? null : this.#judge(hash, seen);
  }

  async invalidate(hash: string): Promise<boolean> {
    this.#revocations++;
    this.#known.delete(hash);
    this.#unknown.delete(hash);
    this.#lookups.delete(hash);
    return this.#deps.sharing?.invalidation.publish(hash) ?? true;
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }

  #cached(hash: string): Seen | null {
    for (const cache of [this.#known, this.#unknown]) {
      const seen = cache.get(hash);
      if (seen === undefined) continue;
      if (this.#trusts(hash, seen)) return seen;
      cache.delete(hash);
    }
    return null;
  }

  #trusts(hash: string, { token, position, lookedAt, goodFor, keptAt }: Seen): boolean {
    const { sharing } = this.#deps;
    const now = performance.now();
    if (token === null && now - lookedAt > unknownFor) return false;
    if (sharing === undefined || position === null) return now - lookedAt <= goodFor;
    const { invalidation } = sharing;
    if (invalidation.changedSince(hash, position)) return false;
    return now - lookedAt <= goodFor || (invalidation.isCurrent() && now - keptAt <= tokenTrust.subscribed);
  }

  #lookUp(hash: string, ofSession: boolean): Promise<Seen> {
    const underWay = this.#lookups.get(hash);
    const now = performance.now();
    // what a slow one finds may be over by now
    if (underWay !== undefined && now <= underWay.until) return underWay.seen;
    const before = this.#revocations;
    const lookup = {
      until: now + (ofSession ? tokenTrust.session : this.#trustFor),
      seen: (ofSession ? this.#lookAtSession(hash) : this.#look(hash))
        .then((seen) => {
          if (before === this.#revocations)
            (seen.token === null ? this.#unknown : this.#known).set(hash, seen);
          return seen;
        })
        .finally(() => {
          if (this.#lookups.get(hash) === lookup) this.#lookups.delete(hash);
        }),
    };
    this.#lookups.set(hash, lookup);
    return lookup.seen;
  }

  async #look(hash: string): Promise<Seen> {
    const { tokens, log, sharing } = this.#deps;
    const keptAt = performance.now();
    const shared = sharing?.invalidation.isCurrent() ? await sharing.tokens.get(hash) : null;
    if (shared !== null && sharing?.invalidation.changedSince(hash, shared.position) === false) {
      return { ...shared, keptAt, lookedAt: Number.NEGATIVE_INFINITY, goodFor: this.#trustFor };
    }
    const position = sharing?.invalidation.position() ?? null;
    const lookedAt = performance.now();
    const before = this.#revocations;
    const token = await tokens.findByHash(hash);
    // nobody waits for it; what is not there was never looked for, so guessing fills nothing
    if (token !== null && position !== null && before === this.#revocations) {
      sharing?.tokens.put(token, position).catch((error: unknown) => {
        log.warn({ err: error }, 'an access token could not be put into Redis');
      });
    }
    return { token, position, lookedAt, keptAt: lookedAt, goodFor: this.#trustFor };
  }

  async #lookAtSession(hash: string): Promise<Seen> {
    const lookedAt = performance.now();
    const token = await this.#deps.sessions.findToken(hash);
    return { token, position: null, lookedAt, keptAt: lookedAt, goodFor: tokenTrust.session };
  }

  #judge(hash: string, { token }: Seen): CheckedToken {
    if (token === null) return 'unknown';
    const now = new Date();
    if (token.revokedAt !== null) return 'revoked';
    if (token.expiresAt !== null && token.expiresAt <= now) return 'expired';
    if (token.ofSession !== true) this.#uses.note(hash, now);
    return token;
  }
}
