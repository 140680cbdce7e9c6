import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { readConfig } from '#kernel/config/read-config.ts';
import { openObjectStore } from '#objects/open-object-store.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { silentLog } from '../services/silent-log.ts';
import { storeObject } from '../services/store-object.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const bytes = Buffer.from('text');

t.test('without a bucket, files are stored below the data directory', async (t) => {
  const dataDir = await temporaryFolder(t);
  const config = readConfig({ DATA_DIR: dataDir });
  const { store, largestPart, objectUrl } = await openObjectStore(config, silentLog());
  t.teardown(() => store.close());
  t.equal(objectUrl, null);
  t.equal(largestPart, store.partBytes(0, Number.POSITIVE_INFINITY));
  await storeObject(store, 'o/p/n', bytes);
  t.strictSame(await readdir(join(dataDir, 'files/objects/o/p')), ['n']);
});

t.test('with a bucket, files are stored in it', async (t) => {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const config = readConfig({
    S3_BUCKET: stub.bucket,
    S3_ENDPOINT: stub.endpoint,
    S3_ACCESS_KEY_ID: stub.accessKeyId,
    S3_SECRET_ACCESS_KEY: stub.secretAccessKey,
    UPLOAD_PART_BYTES: `${6 * 1024 ** 2}`,
  });
  const { store, largestPart, objectUrl } = await openObjectStore(config, silentLog());
  t.teardown(() => store.close());
  t.equal(objectUrl?.('o/p/n 1'), `${stub.endpoint}/${stub.bucket}/o/p/n%201`);
  t.equal(largestPart, 6 * 1024 ** 2);
  t.equal(store.partBytes(0, Number.POSITIVE_INFINITY), 6 * 1024 ** 2);
  await storeObject(store, 'o/p/n', bytes);
  t.match(stub.objects(), [{ key: 'o/p/n', size: 4 }]);
});

t.test('keys that are not given come from the usual chain of AWS', async (t) => {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const env = {
    AWS_ACCESS_KEY_ID: stub.accessKeyId,
    AWS_SECRET_ACCESS_KEY: stub.secretAccessKey,
    // where requests go is not up to the environment
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  };
  const before = { ...process.env };
  t.teardown(() => {
    for (const name of Object.keys(env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });
  Object.assign(process.env, env);
  const config = readConfig({ S3_BUCKET: stub.bucket, S3_ENDPOINT: stub.endpoint });
  const { store } = await openObjectStore(config, silentLog());
  t.teardown(() => store.close());
  await storeObject(store, 'o/p/n', bytes);
  await store.ready(new AbortController().signal);
  t.match(stub.objects(), [{ key: 'o/p/n', size: 4 }]);
});
