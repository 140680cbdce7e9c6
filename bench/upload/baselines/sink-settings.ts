import type { S3ClientConfig } from '@aws-sdk/client-s3';

/** The store of a baseline: Sluice's settings, and otherwise the SDK's defaults. */
export function readSinkSettings(): { bucket: string; clientConfig: S3ClientConfig } {
  return {
    bucket: setting('S3_BUCKET'),
    clientConfig: {
      endpoint: setting('S3_ENDPOINT'),
      region: setting('S3_REGION'),
      forcePathStyle: true,
      credentials: {
        accessKeyId: setting('S3_ACCESS_KEY_ID'),
        secretAccessKey: setting('S3_SECRET_ACCESS_KEY'),
      },
    },
  };
}

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
