import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** The prefix of each kind. Their lengths differ by that alone, so that none can be taken for another. */
const prefixes = { access: 'sluice_', web: 'sluice_web_', session: 'sluice_session_' } as const;
/** `web`: an access token that ends with its session. `session`: no access token at all, but the cookie of a session. */
export type TokenKind = keyof typeof prefixes;

/** 256 random bits, and 48 bits of a checksum that takes a secret of the deployment. */
const pattern = /^(sluice_(?:web_|session_)?[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{8})$/;
const randomCharacters = 43;
const checksumBytes = 6;

/** A new access token whose checksum tells it from made-up ones without a read of the store. */
export function sealedToken(secret: string, kind: TokenKind = 'access'): string {
  const text = `${prefixes[kind]}${randomBytes(32).toString('base64url')}`;
  return text + checksum(text, secret).toString('base64url');
}

/** Whether a token has the form of a kind. Whether it was ever made, its checksum says. */
export function isOfKind(token: string, kind: TokenKind): boolean {
  const prefix = prefixes[kind];
  const length = prefix.length + randomCharacters + (checksumBytes * 8) / 6;
  return token.length === length && token.startsWith(prefix) && pattern.test(token);
}

/** Whether a token was made with the secret. It may be revoked all the same. */
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
