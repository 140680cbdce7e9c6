import { createHmac } from 'node:crypto';

export const signatureAlgorithm = 'AWS4-HMAC-SHA256';
export const unsignedPayload = 'UNSIGNED-PAYLOAD';

/**
 * Derives the signing keys of Signature Version 4
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html, "Calculate the signature"),
 * once per day and credential, not for each request.
 */
export function createSigningKeys(region: string): (secret: string, day: string) => Buffer {
  let derived: { readonly secret: string; readonly day: string; readonly key: Buffer } | null = null;

  return (secret, day) => {
    if (derived === null || derived.day !== day || derived.secret !== secret) {
      const steps = [day, region, 's3', 'aws4_request'];
      derived = { secret, day, key: steps.reduce(hmac, Buffer.from(`AWS4${secret}`)) };
    }
    return derived.key;
  };
}

export function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
