import { hash } from 'node:crypto';
import { createSigningKeys, hmac, signatureAlgorithm, unsignedPayload } from './s3-signing-key.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** A request without its body. */
export interface UnsignedRequest {
  readonly method: string;
  /** The path as sent, escaped. */
  readonly path: string;
  /** The query as sent, escaped and sorted by name; without the question mark. */
  readonly query: string;
  /** Lower-case names; `host` among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hex; absent: the body is signed as unhashed. */
  readonly payload?: string;
}

/**
 * Signature Version 4 in headers
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
 */
export function createS3Signer(
  region: string,
): (request: UnsignedRequest, credentials: S3Credentials, now: Date) => Record<string, string> {
  const signingKey = createSigningKeys(region);

  /** All headers to send. */
  return (
    { method, path, query, headers, payload = unsignedPayload },
    { accessKeyId, secretAccessKey, sessionToken },
    now,
  ) => {
    const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const day = time.slice(0, 8);
    // RFC 9110 section 7.2: Host should be the first
    const signed: Record<string, string> = {
      host: headers.host as string,
      'x-amz-content-sha256': payload,
      'x-amz-date': time,
      ...headers,
    };
    if (sessionToken !== undefined) signed['x-amz-security-token'] = sessionToken;
    const names = Object.keys(signed).sort();
    let canonical = `${method}\n${path}\n${query}\n`;
    for (const name of names) canonical += `${name}:${canonicalValue(signed[name] as string)}\n`;
    const signedHeaders = names.join(';');
    canonical += `\n${signedHeaders}\n${payload}`;
    const scope = `${day}/${region}/s3/aws4_request`;
    const text = `${signatureAlgorithm}\n${time}\n${scope}\n${hash('sha256', canonical)}`;
    const signature = hmac(signingKey(secretAccessKey, day), text).toString('hex');
    signed.authorization = `${signatureAlgorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`;
    return signed;
  };
}

/** As it is signed. */
export function canonicalValue(value: string): string {
  return value.includes('  ') ? value.trim().replace(/ +/g, ' ') : value.trim();
}
