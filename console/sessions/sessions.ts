import { hashToken } from '#auth/access-tokens.ts';
import { isOfKind, sealedToken } from '#auth/sealed-token.ts';
import type { LiveSession, Session, SessionStore } from '#auth/session-store.ts';
import type { TokenGate } from '#auth/token-gate.ts';
import type { Deployment } from '#catalogue/deployment.ts';
import type { Account } from '#catalogue/users.ts';
import { membershipRefused, rateLimited } from '#kernel/errors/catalogue.ts';
import { KeyedLock } from '#kernel/limits/keyed-lock.ts';
import { longestSession } from './session-cookie.ts';

/** The session of a request, with the value of its cookie. */
export interface OpenSession extends LiveSession {
  readonly cookie: string;
}

/** Where a session comes from, for its user to recognize. */
export interface SessionOrigin {
  /** The header `User-Agent`. */
  readonly agent: string;
  readonly address: string;
}

/** Characters of a `User-Agent` that are kept. */
const longestAgent = 300;

/** Most sessions of one account; beyond this the least recently used one ends. */
export const sessionsPerAccount = 20;
/** Milliseconds. */
const tokenLifetime = 15 * 60_000;
/** Most unexpired access tokens of one session. */
export const tokensPerSession = 200;
/** A use is recorded at most this often. Milliseconds, far below the idle timeout. */
const noteEvery = 60_000;

interface SessionsDeps {
  readonly store: SessionStore;
  /** Rejects made-up cookies before they reach the store. */
  readonly gate: TokenGate;
  readonly deployment: Pick<Deployment, 'secret'>;
  readonly now?: () => Date;
}

/**
 * Begins, finds and ends sessions of the dashboard. Every call reads the store, so that an ended session is refused at
 * once.
 */
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #now: () => Date;
  readonly #lock = new KeyedLock();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => new Date());
  }

  /**
   * A new session with a new cookie.
   * @param accountId the account that it acts for; absent: the user's own
   */
  async start(account: Account, { agent, address }: SessionOrigin, accountId = ''): Promise<OpenSession> {
    const cookie = sealedToken(this.#deps.deployment.secret, 'session');
    const now = this.#now();
    const session = {
      hash: hashToken(cookie),
      userId: account.id,
      userVersion: account.version,
      createdAt: now,
      usedAt: now,
      expiresAt: new Date(now.getTime() + longestSession),
      accountId: accountId === account.id ? '' : accountId,
      agent: agent.slice(0, longestAgent),
      address,
    };
    await this.#deps.store.put(session);
    const all = await this.#deps.store.ofUser(account.id, now);
    const surplus = all.filter(({ hash }) => hash !== session.hash).slice(sessionsPerAccount - 1);
    for (const old of surplus) await this.#deps.store.end(old);
    const acting = await this.#deps.store.actingOf(session, account);
    return { cookie, session, account, acting };
  }

  async find(cookie: string, signal: AbortSignal): Promise<OpenSession | null> {
    if (!isOfKind(cookie, 'session')) return null;
    const hash = hashToken(cookie);
    if (!(await this.#deps.gate.admits(cookie, hash))) return null;
    const now = this.#now();
    const found = await this.#deps.store.find(hash, now, signal);
    if (found === null) return null;
    if (now.getTime() - found.session.usedAt.getTime() >= noteEvery) {
      await this.#deps.store.put({ ...found.session, usedAt: now });
    }
    return { ...found, cookie };
  }

  end({ session }: Pick<OpenSession, 'session'>): Promise<void> {
    return this.#deps.store.end(session);
  }

  /** The sessions of a user, the most recently used first. */
  async list(userId: string, userVersion: number, signal: AbortSignal): Promise<readonly Session[]> {
    const all = await this.#deps.store.ofUser(userId, this.#now(), signal);
    // those of earlier versions have ended
    return all.filter((session) => session.userVersion === userVersion);
  }

  /** Issues an access token, which never outlives the session. Rejects with 429 when the session has too many. */
  issueToken(
    { session, acting }: OpenSession,
    signal: AbortSignal,
  ): Promise<{ token: string; expiresAt: Date }> {
    if (acting === null) throw notAMember();
    return this.#lock.run(
      session.hash,
      async () => {
        const now = this.#now();
        const expiries = await this.#deps.store.tokenExpiries(session.hash, now, signal);
        const [first] = expiries;
        if (first !== undefined && expiries.length >= tokensPerSession) {
          throw rateLimited(first.getTime() - now.getTime());
        }
        const token = sealedToken(this.#deps.deployment.secret, 'web');
        const expiresAt = new Date(Math.min(now.getTime() + tokenLifetime, session.expiresAt.getTime()));
        await this.#deps.store.putToken({
          hash: hashToken(token),
          session: session.hash,
          createdAt: now,
          expiresAt,
        });
        return { token, expiresAt };
      },
      signal,
    );
  }
}

/** For a session whose user was removed from the account, or whose account was deleted. */
export function notAMember(): Error {
  return membershipRefused('You are no longer a member of this account: enter another one');
}
