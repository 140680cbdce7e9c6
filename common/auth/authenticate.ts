import type { BoundSender } from '#catalogue/file-rules/file-rules.ts';
import { type Limiter, unlimited } from '#coordination/rate-limits/request-limiter.ts';
import { notGranted, unauthorized } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import {
  type GrantPlace,
  type Grants,
  lackOf,
  lackOfMember,
  type Need,
  type TouchedSpaces,
} from '#kernel/grants.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import type { AccessToken, ReadLimitsOfToken } from './access-tokens.ts';
import type { CheckedToken, TokenCheck } from './token-check.ts';

/** The sender of a request. */
export interface Principal {
  readonly userId: string;
  readonly tokenId: string;
  readonly limits?: ReadLimitsOfToken;
  readonly grants?: Grants;
  /**
   * For a publishable token: counts the request. Its senders are users and addresses, which are only known later.
   */
  readonly admit?: (sender: string) => Promise<void> | undefined;
  /** Rules of files bind the request (file-senders.ts). */
  readonly bound?: BoundSender;
}

/**
 * Throws 401 unless the request carries a good access token (interface.md section 5), and 403 unless the token is granted
 * what the route of the request needs. Returns a promise only if a store has to be read; that may reject with any error.
 */
export type Authenticate = (request: HttpRequest, ruled?: AppliesRules) => Principal | Promise<Principal>;

/** From a caller that applies rules to the request: only then is a publishable token accepted. */
type AppliesRules = 'by rules';

// RFC 6750 section 2.1; the scheme's letter case is free (RFC 9110 section 11.1)
const bearer = /^bearer +([A-Za-z0-9._~+/=-]{1,512})$/i;

const refusals = {
  unknown: 'The access token is not known',
  expired: 'The access token has expired',
  revoked: 'The access token has been revoked',
} as const;

/** @param limiter limits the requests of each token */
export function createAuthenticate(tokenCheck: TokenCheck, limiter: Limiter = unlimited): Authenticate {
  const admit = (
    request: HttpRequest,
    { userId, id: tokenId, limits, grants, ofSession }: AccessToken,
    ruled: AppliesRules | undefined,
  ): Principal | Promise<Principal> => {
    request.body.identify(userId);
    assertGranted(grants, request.needs, request.params, ofSession);
    const principal = { userId, tokenId, ...(limits && { limits }), ...(grants && { grants }) };
    if (grants?.publishable) {
      if (ruled === undefined)
        throw notGranted('A publishable access token is for records and files with rules');
      assertOrigin(grants, request.header('origin'));
      const admit = (sender: string) => limiter.admit(`${tokenId} ${sender}`, (end) => request.onOver(end));
      return { ...principal, admit };
    }
    const admission = limiter.admit(tokenId, (end) => request.onOver(end));
    return admission === undefined ? principal : admission.then(() => principal);
  };
  return (request, ruled) => {
    const header = request.header('authorization');
    if (header === undefined || header.trim() === '') {
      throw unauthorized('The Authorization header is missing: send "Authorization: Bearer <ACCESS_TOKEN>"');
    }
    const token = bearer.exec(header.trim())?.[1];
    if (token === undefined) {
      throw unauthorized('The Authorization header should be "Bearer <ACCESS_TOKEN>"');
    }
    const known = tokenCheck.checkKnown(token);
    if (known !== null) return admit(request, goodToken(known), ruled);
    return tokenCheck
      .check(token, request.signal)
      .then((checked) => admit(request, goodToken(checked), ruled));
  };
}

/**
 * Throws a 403, the same whether the project or space exists or not.
 * @param grants absent: everything @param need null or absent: only a token without grants passes
 * @param ofSession whether the token is of a session of the dashboard
 */
export function assertGranted(
  grants: Grants | undefined,
  need: Need | null | undefined,
  place: GrantPlace,
  ofSession = false,
): void {
  if (grants === undefined) return;
  const reason = ofSession ? lackOfMember : lackOf;
  const lack = need ? reason(grants, need, place) : 'The access token is not granted this operation';
  if (lack !== null) throw notGranted(lack);
}

/** Throws 403 unless the token names the grant `backup`. A token without limits does not export hashes. */
export function assertBackup(grants: Grants | undefined, touches: TouchedSpaces, place: GrantPlace): void {
  if (grants?.may?.includes('backup') !== true)
    throw notGranted('The access token is not granted backup, which it needs by name');
  assertGranted(grants, { grant: 'backup', touches }, place);
}

/** Only browsers can be held to an origin: other clients send any, or none. */
function assertOrigin({ origins = [] }: Grants, origin: string | undefined): void {
  if (origin === undefined || origins.includes('*') || origins.includes(origin)) return;
  throw notGranted(`The access token is not for pages of ${shownName(origin)}`);
}

function goodToken(checked: CheckedToken): AccessToken {
  if (typeof checked === 'string') throw unauthorized(refusals[checked]);
  return checked;
}
