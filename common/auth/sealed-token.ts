import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, and 48 bits of a checksum that takes a secret of the deployment. */
const pattern = /^(sluice_[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{8})$/;
const checksumBytes = 6;

/** A new access token whose checksum tells it from made-up ones without a look into the store. */
export function sealedToken(secret: string): string {
  const text = `sluice_${randomBytes(32).toString('base64url')}`;
  return text + checksum(text, secret).toString('base64url');
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
