/** What docker-compose.yml runs to make its bucket, against a real S3 server. */
import { randomBytes } from 'node:crypto';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import t from 'tap';
import { makeBucket } from '../../deploy/compose/init/make-bucket.ts';
import { testedPlace } from '../services/tested-s3.ts';

const { endpoint, region, credentials } = testedPlace();
const bucket = `made-${randomBytes(6).toString('hex')}`;
const settings = { endpoint, region, bucket, credentials, filerUrl: undefined };

t.test('a bucket is made where there is none, and nothing happens the second time', async (t) => {
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  t.teardown(() => client.destroy());
  await t.rejects(client.send(new HeadBucketCommand({ Bucket: bucket })));
  await makeBucket(settings);
  await t.resolves(client.send(new HeadBucketCommand({ Bucket: bucket })));
  await makeBucket(settings);
});

t.test('a key without the right gets a clear error', async (t) => {
  const wrong = { ...credentials, secretAccessKey: 'not the key' };
  await t.rejects(makeBucket({ ...settings, credentials: wrong }), { name: 'SignatureDoesNotMatch' });
});
