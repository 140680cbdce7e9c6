import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The prefix of each kind. Kinds differ only in its length, so that no token passes for another kind. */
const prefixes = {
  access: 'sluice_',
  web: 'sluice_web_',
  link: 'sluice_link_',
  session: 'sluice_session_',
} as const;
/**
 * `web`: an access token that ends with its session. The others are no access tokens: `session` is the cookie of a session,
 * `link` is part of a link for one person.
 */
export type TokenKind = keyof typeof prefixes;

/** 256 random bits, and a checksum of 48 bits, keyed with a secret of the deployment. */
const pattern = /^(sluice_(?:web_|link_|session_)?[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{8})$/;
const randomCharacters = 43;
const checksumBytes = 6;

/** A new access token. Its checksum tells it from a made-up token without a read of the store. */
export function sealedToken(secret: string, kind: TokenKind = 'access'): string {
  const text = `${prefixes[kind]}${randomBytes(32).toString('base64url')}`;
  return text + checksum(text, secret).toString('base64url');
}

/** Whether a token has the form of a kind. Only its checksum says whether it is genuine. */
export function isOfKind(token: string, kind: TokenKind): boolean {
  const prefix = prefixes[kind];
  const length = prefix.length + randomCharacters + (checksumBytes * 8) / 6;
  return token.length === length && token.startsWith(prefix) && pattern.test(token);
}

/** Whether a token was made with the secret. It may still be revoked. */
export function isSealed(token: string, secret: string): boolean {
  const [, text, given] = pattern.exec(token) ?? [];
  if (text === undefined || given === undefined) return false;
  return timingSafeEqual(Buffer.from(given, 'base64url'), checksum(text, secret));
}

function checksum(text: string, secret: string): Buffer {
  return createHmac('sha256', secret)
    .update(`sluice access token 1\0${text}`)
    .digest()
    .subarray(0, checksumBytes);
}
