import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createS3Store } from '../../common/object-store/s3/s3-store.ts';
import { uploadSuite } from '../acceptance/upload-suite.ts';
import { silentLog } from '../services/silent-log.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';
import { testedS3 } from '../services/tested-s3.ts';

const {
  S3_TEST_ENDPOINT: endpoint = '',
  S3_TEST_BUCKET: bucket = '',
  S3_TEST_REGION: region = '',
  S3_TEST_ACCESS_KEY_ID: accessKeyId = '',
  S3_TEST_SECRET_ACCESS_KEY: secretAccessKey = '',
} = process.env;

const folder = await mkdtemp(join(tmpdir(), 'sluice-files-'));
const store = createS3Store({
  ...{ endpoint, bucket, region, credentials: { accessKeyId, secretAccessKey }, forcePathStyle: true },
  ...{ partBytes: 8 * 1024 ** 2, maxObjectBytes: 1024 ** 3, log: silentLog() },
});
const sluice = await startSluice({ env: testedS3 });
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

t.test('uploads and downloads on a real S3 server', async (t) => {
  const { signal } = new AbortController();
  await uploadSuite(t, {
    sluice,
    folder,
    async leftovers(name) {
      const keys: string[] = [];
      for await (const { key } of store.list('', signal)) keys.push(key);
      for await (const { key } of store.listOpenUploads(signal)) keys.push(key);
      return keys.filter((key) => key.includes(name));
    },
  });
});
