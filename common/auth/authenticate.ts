import { unauthorized } from '../errors/catalogue.ts';
import type { HttpRequest } from '../http/http-types.ts';
import type { RequestLimiter } from '../rate-limits/request-limiter.ts';
import type { TokenCheck } from './token-check.ts';

/** Who sends a request. */
export interface Principal {
  readonly userId: string;
  readonly tokenId: string;
}

/** Throws 401 unless the request carries a good access token (interface.md section 5). */
export type Authenticate = (request: HttpRequest) => Promise<Principal>;

// RFC 6750 section 2.1; the scheme's letter case is free (RFC 9110 section 11.1)
const bearer = /^bearer +([A-Za-z0-9._~+/=-]{1,512})$/i;

const refusals = {
  unknown: 'The access token is not known',
  expired: 'The access token has expired',
  revoked: 'The access token has been revoked',
} as const;

/** @param limiter absent: a token may send what it likes */
export function createAuthenticate(tokenCheck: TokenCheck, limiter?: RequestLimiter): Authenticate {
  return async (request) => {
    const header = request.header('authorization');
    if (header === undefined || header.trim() === '') {
      throw unauthorized('The Authorization header is missing: send "Authorization: Bearer <ACCESS_TOKEN>"');
    }
    const token = bearer.exec(header.trim())?.[1];
    if (token === undefined) {
      throw unauthorized('The Authorization header should be "Bearer <ACCESS_TOKEN>"');
    }
    const result = tokenCheck.checkKnown(token) ?? (await tokenCheck.check(token, request.signal));
    if (typeof result === 'string') throw unauthorized(refusals[result]);
    request.body.identify(result.userId);
    const admission = limiter?.admit(result.id, (end) => request.onOver(end));
    if (admission !== undefined) await admission;
    return { userId: result.userId, tokenId: result.id };
  };
}
