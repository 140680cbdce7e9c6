import { LRUCache } from 'lru-cache';
import { upTo } from '#kernel/limits/up-to.ts';
import type { SigningKeys } from './signing-keys.ts';

/** The subject of a login token: a record in the space that holds an application's users. */
export interface LoginClaims {
  /** UUIDv5 of owner and project slug: a token is good in one project of one account. */
  readonly projectId: string;
  readonly spaceId: string;
  readonly recordId: string;
}

/** Login tokens: signed JWTs (RFC 7519), which are not stored. They are no access tokens. */
export interface LoginTokens {
  issue(claims: LoginClaims): Promise<string>;
  /** Null for anything that is not a token of ours, was changed, or has expired. A promise only for one that was not just seen. */
  verify(token: string): LoginClaims | null | Promise<LoginClaims | null>;
}

/**
 * The process that checks these tokens also signs them, so a key pair would gain nothing over one secret.
 * The algorithm is fixed here, whatever the token's header says (RFC 8725 section 3.1).
 */
const algorithm = 'HS256';
/** Keeps these apart from whatever else may be signed with the same key some day (RFC 8725 section 3.12). */
const type = 'login+jwt';
const longestToken = 2048;
/** A token that was just verified is not verified again for this long: half of the cost of a short request. Milliseconds. */
const trustedFor = 5000;
const keptTokens = 10_000;

let loaded: Promise<typeof import('jose')> | undefined;
/** Loaded with the first token: its 46 modules would make every start longer. */
function loadJose(): Promise<typeof import('jose')> {
  loaded ??= import('jose');
  return loaded;
}

interface Verified {
  readonly token: string;
  readonly claims: LoginClaims;
  /** Milliseconds. */
  readonly until: number;
}

/** The end of a token: no two have the same, and to look for it costs less than for the whole. */
function signatureOf(token: string): string {
  return token.slice(-43);
}

/** @param args.ttl milliseconds */
export function createLoginTokens(args: { keys: SigningKeys; ttl: number; now?: () => Date }): LoginTokens {
  const { keys, ttl, now = () => new Date() } = args;
  const verified = new LRUCache<string, Verified>({ ...upTo(keptTokens) });
  return {
    async issue({ projectId, spaceId, recordId }) {
      const { SignJWT } = await loadJose();
      const { id, secret } = await keys.current();
      const time = now().getTime();
      // rounded up: a token is good for the promised time at least
      const expiry = Math.ceil((time + ttl) / 1000);
      return new SignJWT({ pid: projectId, sid: spaceId })
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
      const claims = { projectId: pid, spaceId: sid, recordId: sub };
      verified.set(signatureOf(token), { token, claims, until: Math.min(time + trustedFor, exp * 1000) });
      return claims;
    } catch (error) {
      // a store that fails is not a bad token
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }
}
