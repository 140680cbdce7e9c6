import t from 'tap';
import { createS3Store } from '../../common/object-store/s3/s3-store.ts';
import { objectStoreContract } from '../integration/object-store-contract.ts';
import { s3StoreCases } from '../integration/s3-store-cases.ts';
import { silentLog } from '../services/silent-log.ts';

/**
 * The S3 store on a server that is not ours: S3_TEST_ENDPOINT, S3_TEST_BUCKET, S3_TEST_ACCESS_KEY_ID,
 * S3_TEST_SECRET_ACCESS_KEY, and S3_TEST_REGION unless it is us-east-1. CI gives it Ceph, and Versity.
 */
function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} should name the S3 server to test`);
  return value;
}

function openStore(log = silentLog()) {
  return createS3Store({
    bucket: variable('S3_TEST_BUCKET'),
    endpoint: variable('S3_TEST_ENDPOINT'),
    region: process.env.S3_TEST_REGION || 'us-east-1',
    credentials: {
      accessKeyId: variable('S3_TEST_ACCESS_KEY_ID'),
      secretAccessKey: variable('S3_TEST_SECRET_ACCESS_KEY'),
    },
    forcePathStyle: true,
    partBytes: 5 * 1024 ** 2,
    maxObjectBytes: 1024 ** 3,
    log,
  });
}

t.test('contract', async (t) => {
  await objectStoreContract(t, async () => openStore());
});

t.test('cases', async (t) => {
  const log = silentLog();
  const store = openStore(log);
  t.teardown(() => store.close());
  await s3StoreCases(t, store);
  t.strictSame(log.failures, []);
});
