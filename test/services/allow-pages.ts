import { PutBucketCorsCommand } from '@aws-sdk/client-s3';
import { sdkClient } from './s3-sdk-client.ts';
import { testedPlace, testedS3 } from './tested-s3.ts';

/** Lets pages of all origins send parts to the S3 server of a suite; nothing where it has no server. */
export async function allowPages(): Promise<void> {
  if (testedS3.S3_ENDPOINT === undefined) return;
  const { bucket, credentials, ...place } = testedPlace();
  const client = sdkClient({ ...place, ...credentials });
  const rule = { AllowedOrigins: ['*'], AllowedMethods: ['PUT', 'GET', 'HEAD'], AllowedHeaders: ['*'] };
  const CORSConfiguration = { CORSRules: [{ ...rule, ExposeHeaders: ['ETag'] }] };
  await client.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration }));
  client.destroy();
}
