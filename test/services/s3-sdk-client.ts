import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Stub } from './s3-stub/start-s3-stub.ts';

type StubAddress = Pick<S3Stub, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;

/** The SDK's client for the stub (or any other S3 on loopback); one attempt, so that tests see each failure. */
export function sdkClient(stub: StubAddress, config: Partial<S3ClientConfig> = {}): S3Client {
  return new S3Client({
    endpoint: stub.endpoint,
    region: stub.region,
    credentials: { accessKeyId: stub.accessKeyId, secretAccessKey: stub.secretAccessKey },
    forcePathStyle: true,
    maxAttempts: 1,
    ...config,
  });
}
