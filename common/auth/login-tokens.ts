import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '#kernel/config/read-config.ts';
import { upTo } from '#kernel/limits/up-to.ts';
import { createConfiguredKeys, type SigningKeys } from './signing-keys.ts';

/** The subject of a login token: a record in an application's space of users. */
export interface LoginClaims {
  /** UUIDv5 of owner and project slug: a token is valid in one project of one account. */
  readonly projectId: string;
  readonly spaceId: string;
  readonly recordId: string;
  /** Absent from tokens of earlier versions. */
  readonly login?: LoginOfToken;
}

/** The login that a token was issued for. A renewed token has the same one. */
export interface LoginOfToken {
  readonly id: string;
  /** When the user logged in. Seconds since 1970. */
  readonly began: number;
  /** Of the record's login state (login-state.ts): a token of another generation is refused. */
  readonly generation: string;
}

/** Login tokens: signed JWTs (RFC 7519), which are not stored. They are not access tokens. */
export interface LoginTokens {
  /** Milliseconds for which a token is valid. */
  readonly ttl: number;
  /** @param end when the token expires at the latest. Seconds since 1970 */
  issue(claims: LoginClaims, end?: number): Promise<string>;
  /** Null: the token is forged, changed or expired. Returns a promise unless the token was verified a moment ago. */
  verify(token: string): LoginClaims | null | Promise<LoginClaims | null>;
}

/**
 * The process that checks these tokens also signs them, so a key pair would gain nothing over one secret.
 * The algorithm is fixed here, whatever the token's header says (RFC 8725 section 3.1).
 */
const algorithm = 'HS256';
/** Distinguishes these tokens from anything else signed with the same key (RFC 8725 section 3.12). */
const type = 'login+jwt';
const longestToken = 2048;
/** How long a verified token is trusted. A verification is half of the cost of a short request. Milliseconds. */
const trustedFor = 5000;
const keptTokens = 10_000;

let loaded: Promise<typeof import('jose')> | undefined;
/** Loaded with the first token: its 46 modules would slow down every start. */
function loadJose(): Promise<typeof import('jose')> {
  loaded ??= import('jose');
  return loaded;
}

interface VerifiedToken {
  readonly token: string;
  readonly claims: LoginClaims;
  /** Milliseconds. */
  readonly until: number;
}

/** The end of a token is unique, and cheaper to look up than the whole token. */
function signatureOf(token: string): string {
  return token.slice(-43);
}

/** The tokens of a configuration. @param stored keys, for a configuration without a secret */
export function openLoginTokens(
  { loginTokenSecret: secret, loginTokenTtl: ttl }: Pick<Config, 'loginTokenSecret' | 'loginTokenTtl'>,
  stored: SigningKeys,
): LoginTokens {
  return createLoginTokens({ keys: secret === undefined ? stored : createConfiguredKeys(secret), ttl });
}

/** @param args.ttl milliseconds */
export function createLoginTokens(args: { keys: SigningKeys; ttl: number; now?: () => Date }): LoginTokens {
  const { keys, ttl, now = () => new Date() } = args;
  const verified = new LRUCache<string, VerifiedToken>({ ...upTo(keptTokens) });
  return {
    ttl,
    async issue({ projectId, spaceId, recordId, login }, end = Number.POSITIVE_INFINITY) {
      const { SignJWT } = await loadJose();
      const { id, secret } = await keys.current();
      const time = now().getTime();
      // rounded up: a token is valid for at least the promised time
      const expiry = Math.min(Math.ceil((time + ttl) / 1000), end);
      const ofLogin = login && { lid: login.id, auth_time: login.began, gen: login.generation };
      return new SignJWT({ pid: projectId, sid: spaceId, ...ofLogin })
        .setProtectedHeader({ alg: algorithm, typ: type, kid: id })
        .setSubject(recordId)
        .setIssuedAt(Math.floor(time / 1000))
        .setExpirationTime(expiry)
        .sign(secret);
    },
    verify(token) {
      if (token.length > longestToken) return null;
      const time = now().getTime();
      const seen = verified.peek(signatureOf(token));
      return seen?.token === token && time < seen.until ? seen.claims : read(token, time);
    },
  };

  async function read(token: string, time: number): Promise<LoginClaims | null> {
    const { errors, jwtVerify } = await loadJose();
    try {
      const { payload } = await jwtVerify(
        token,
        async ({ kid }) => {
          const key = typeof kid === 'string' ? await keys.find(kid) : null;
          if (key === null) throw new errors.JWSInvalid('the key is not known');
          return key.secret;
        },
        {
          algorithms: [algorithm],
          typ: type,
          currentDate: new Date(time),
          requiredClaims: ['sub', 'pid', 'sid', 'iat', 'exp'],
        },
      );
      const { sub, pid, sid, exp = 0 } = payload;
      if (typeof sub !== 'string' || typeof pid !== 'string' || typeof sid !== 'string') return null;
      const login = loginOf(payload);
      const claims = { projectId: pid, spaceId: sid, recordId: sub, ...(login && { login }) };
      verified.set(signatureOf(token), { token, claims, until: Math.min(time + trustedFor, exp * 1000) });
      return claims;
    } catch (error) {
      // a failing store doesn't make the token invalid
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }
}

function loginOf({ lid, auth_time: began, gen }: JWTPayload): LoginOfToken | null {
  if (typeof lid !== 'string' || typeof began !== 'number' || typeof gen !== 'string') return null;
  return { id: lid, began, generation: gen };
}
