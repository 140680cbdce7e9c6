import { createHash, createHmac } from 'node:crypto';

/** Tasks 2 and 3 of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. */
export const algorithm = 'AWS4-HMAC-SHA256';

export interface CredentialScope {
  /** YYYYMMDD */
  readonly date: string;
  readonly region: string;
  readonly service: string;
}

export function scopeText(scope: CredentialScope): string {
  return `${scope.date}/${scope.region}/${scope.service}/aws4_request`;
}

export function signingKey(secretAccessKey: string, scope: CredentialScope): Buffer {
  const ofDate = hmac(`AWS4${secretAccessKey}`, scope.date);
  return hmac(hmac(hmac(ofDate, scope.region), scope.service), 'aws4_request');
}

/** `amzDate` is YYYYMMDDTHHMMSSZ. Header values are bytes, which node gives as latin1. */
export function requestSignature(
  key: Buffer,
  amzDate: string,
  scope: CredentialScope,
  canonical: string,
): string {
  const hash = createHash('sha256').update(canonical, 'latin1').digest('hex');
  return hmac(key, `${algorithm}\n${amzDate}\n${scopeText(scope)}\n${hash}`).toString('hex');
}

export function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
