import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Credentials } from './s3-signer.ts';

/**
 * The client's credentials for requests without the SDK. Those that do not expire are fetched once; others may take a
 * while, which the caller has to bound.
 */
export function credentialsOf({
  credentials: fetch,
}: Pick<S3Client['config'], 'credentials'>): () => S3Credentials | Promise<S3Credentials> {
  let lasting: S3Credentials | null = null;
  return () =>
    lasting ??
    fetch().then((credentials) => {
      if (credentials.expiration === undefined) lasting = credentials;
      return credentials;
    });
}
