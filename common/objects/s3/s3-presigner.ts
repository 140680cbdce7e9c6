import { hash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { withDeadline } from '#kernel/limits/deadline.ts';
import { queryText, type S3Address } from './s3-address.ts';
import { credentialsOf } from './s3-credentials.ts';
import { withStorageErrors } from './s3-failure.ts';
import type { S3Timing } from './s3-options.ts';
import { canonicalValue } from './s3-signer.ts';
import { createSigningKeys, hmac, signatureAlgorithm, unsignedPayload } from './s3-signing-key.ts';

/** A request that somebody else will send. */
export interface PresignRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  /** Unescaped. */
  readonly query: Readonly<Record<string, string>>;
  /** Those that the client must send, with lower-case names; `host` is added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds from now, 1 to `longestLifetime`. Temporary credentials may expire earlier, and the address with them. */
  readonly lifetime: number;
}

export interface PresignedRequest {
  readonly url: string;
  /** The headers that the client must send, besides Host. */
  readonly headers: Readonly<Record<string, string>>;
}

export type Presign = (request: PresignRequest, signal: AbortSignal) => Promise<PresignedRequest>;

/** S3's own limit; servers refuse more. Seconds. */
export const longestLifetime = 7 * 24 * 3600;

/**
 * Signs addresses for clients that hold no credentials: Signature Version 4 in the query, with an unhashed payload
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html).
 * @param args.address the bucket as clients reach it
 */
export function createS3Presigner(args: {
  readonly client: Pick<S3Client, 'config'>;
  readonly address: S3Address;
  readonly timing: Pick<S3Timing, 'request'>;
}): Presign {
  const { client, address, timing } = args;
  const { base, signingRegion } = address;
  const signingKey = createSigningKeys(signingRegion);
  const credentialsNow = credentialsOf(client.config);

  return async ({ method, key, query, headers, lifetime }, signal) => {
    if (!Number.isInteger(lifetime) || lifetime < 1 || lifetime > longestLifetime) {
      throw new RangeError(`an address can't live for ${lifetime} s`);
    }
    let credentials = credentialsNow();
    if (credentials instanceof Promise) {
      const fetched = credentials;
      credentials = await withStorageErrors('Presign', key, signal, () =>
        withDeadline(signal, timing.request, () => fetched),
      );
    }
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const now = new Date(Date.now() + client.config.systemClockOffset);
    const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const day = time.slice(0, 8);
    const scope = `${day}/${signingRegion}/s3/aws4_request`;
    const signed: Record<string, string> = { host: base.host, ...headers };
    const names = Object.keys(signed).sort();
    const signedQuery: Record<string, string> = {
      'X-Amz-Algorithm': signatureAlgorithm,
      'X-Amz-Credential': `${accessKeyId}/${scope}`,
      'X-Amz-Date': time,
      'X-Amz-Expires': `${lifetime}`,
      'X-Amz-SignedHeaders': names.join(';'),
      ...query,
    };
    if (sessionToken !== undefined) signedQuery['X-Amz-Security-Token'] = sessionToken;
    const sent = queryText(signedQuery);
    const path = address.path(key);
    let canonical = `${method}\n${path}\n${sent}\n`;
    for (const name of names) canonical += `${name}:${canonicalValue(signed[name] as string)}\n`;
    canonical += `\n${names.join(';')}\n${unsignedPayload}`;
    const text = `${signatureAlgorithm}\n${time}\n${scope}\n${hash('sha256', canonical)}`;
    const signature = hmac(signingKey(secretAccessKey, day), text).toString('hex');
    return { url: `${base.origin}${path}?${sent}&X-Amz-Signature=${signature}`, headers };
  };
}
