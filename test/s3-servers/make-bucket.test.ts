/** What docker-compose.yml runs to make its bucket, against a real S3 server. */
import { randomBytes } from 'node:crypto';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import t from 'tap';
import { makeBucket } from '../../deploy/compose/init/make-bucket.ts';

const setting = (name: string): string => {
  const value = process.env[`S3_TEST_${name}`];
  if (value === undefined)
    throw new Error('npm test -- ceph and npm test -- versity start the server that this needs');
  return value;
};
const settings = {
  endpoint: setting('ENDPOINT'),
  region: setting('REGION'),
  bucket: `made-${randomBytes(6).toString('hex')}`,
  credentials: { accessKeyId: setting('ACCESS_KEY_ID'), secretAccessKey: setting('SECRET_ACCESS_KEY') },
  filerUrl: undefined,
};

t.test('a bucket is made where there is none, and nothing happens the second time', async (t) => {
  const { endpoint, region, credentials, bucket } = settings;
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  t.teardown(() => client.destroy());
  await t.rejects(client.send(new HeadBucketCommand({ Bucket: bucket })));
  await makeBucket(settings);
  await t.resolves(client.send(new HeadBucketCommand({ Bucket: bucket })));
  await makeBucket(settings);
});

t.test('a key without the right gets a clear error', async (t) => {
  const credentials = { ...settings.credentials, secretAccessKey: 'not the key' };
  await t.rejects(makeBucket({ ...settings, credentials }), { name: 'SignatureDoesNotMatch' });
});
