import type { S3Stub } from './start-s3-stub.ts';

/** The variables by which a process of ours stores in the stub. */
export function stubSettings(stub: S3Stub) {
  return {
    S3_BUCKET: stub.bucket,
    S3_ENDPOINT: stub.endpoint,
    S3_REGION: stub.region,
    S3_ACCESS_KEY_ID: stub.accessKeyId,
    S3_SECRET_ACCESS_KEY: stub.secretAccessKey,
  };
}
