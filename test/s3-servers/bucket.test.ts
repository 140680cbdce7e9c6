/** What `sluice bucket` sees and sets on a real S3 server: in a bucket of its own, with rules of others. */
import { randomBytes, randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  GetBucketCorsCommand,
  GetBucketLifecycleConfigurationCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
} from '@aws-sdk/client-s3';
import t from 'tap';
import { bucketText, isFit } from '#objects/s3/bucket-check/bucket-text.ts';
import { checkBucket } from '#objects/s3/bucket-check/check-bucket.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { testedPlace } from '../services/tested-s3.ts';

const place = { ...testedPlace(), bucket: `checked-${randomBytes(6).toString('hex')}` };
const client = sdkClient({ ...place, ...place.credentials });
t.teardown(() => client.destroy());
const inBucket = { Bucket: place.bucket };
const { signal } = new AbortController();
const deploymentId = randomUUID();

const check = (fix: boolean) => {
  const origins = ['https://app.example.com', 'https://other.example.com'];
  const order = {
    fix,
    origins,
    redirects: true,
    metadata: ['owner'],
    deploymentId,
    staleAfter: 24 * 3_600_000,
  };
  return checkBucket(place, { order, log: silentLog(), signal });
};

t.before(() => client.send(new CreateBucketCommand(inBucket)));

t.test('what is missing is seen, set beside rules of others, and seen', async (t) => {
  const before = await check(false);
  t.notOk(isFit(before));
  t.equal(before.probed.refusal, null);
  for (const { behaviour, good } of before.probed.seen)
    if (['altered', 'expired', 'omitted', 'length', 'md5', 'partMd5', 'etag', 'partEtag'].includes(behaviour))
      t.ok(good, behaviour);
  t.match(
    bucketText(before, { fix: false, fixCommand: 'FIX' }),
    /^Something is missing: see above. FIX sets/m,
  );

  // it comes first, and exposes no ETag
  const theirs = { ID: 'theirs', AllowedMethods: ['PUT'], AllowedOrigins: ['https://app.example.com'] };
  const cors = { CORSRules: [{ ...theirs, ExposeHeaders: ['x-amz-meta-a'] }] };
  await client.send(new PutBucketCorsCommand({ ...inBucket, CORSConfiguration: cors }));
  const after = await check(true);
  t.strictSame(
    after.pages.map(({ problems }) => problems),
    [[], []],
  );
  t.ok(isFit(after), bucketText(after, { fix: true, fixCommand: '' }));
  const { CORSRules = [] } = await client.send(new GetBucketCorsCommand(inBucket));
  t.strictSame(CORSRules.map(({ ID }) => ID).sort(), [
    `sluice-${deploymentId}`,
    `sluice-${deploymentId}-reads`,
    'theirs',
  ]);
  t.match(
    CORSRules.find(({ ID }) => ID === 'theirs'),
    cors.CORSRules[0] ?? {},
  );
  t.notOk((await check(true)).cors.wasSet, 'a second time nothing is set');
});

t.test('a rule for incomplete uploads is added, where the store has such rules', async (t) => {
  const { abort } = await check(false);
  if (abort.refusal !== null || abort.days === null) {
    t.match(abort.refusal, /501|405/);
    return;
  }
  t.equal(abort.days, 7);
  const { Rules } = await client.send(new GetBucketLifecycleConfigurationCommand(inBucket));
  t.match(Rules, [
    { Filter: { Prefix: `${deploymentId}/` }, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } },
  ]);
  const early = { ID: 'early', Status: 'Enabled', Filter: { Prefix: '' } } as const;
  const rules = [...(Rules ?? []), { ...early, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } }];
  await client.send(
    new PutBucketLifecycleConfigurationCommand({ ...inBucket, LifecycleConfiguration: { Rules: rules } }),
  );
  const report = await check(true);
  t.match(report.abort, { days: 1, tooEarly: true, wasSet: false });
  t.notOk(isFit(report));
});

t.test('nothing of the checks is left', async (t) => {
  t.notOk((await client.send(new ListObjectsV2Command(inBucket))).Contents?.length);
  t.notOk((await client.send(new ListMultipartUploadsCommand(inBucket))).Uploads?.length);
});
