import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { stubSettings } from '../services/s3-stub/stub-settings.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';
import { uploadSuite } from './upload-suite.ts';

const folder = await mkdtemp(join(tmpdir(), 'sluice-files-'));
const stub = await startS3Stub();
const sluice = await startSluice({
  env: stubSettings(stub),
});
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

t.test('S3', async (t) => {
  await uploadSuite(t, {
    sluice,
    folder,
    linkOf: ({ name, ownedBy }) => `${stub.endpoint}/${stub.bucket}/${ownedBy}/media/${name}`,
    leftovers: async (name) =>
      [...stub.objects(), ...stub.openUploads()].map(({ key }) => key).filter((key) => key.includes(name)),
  });
  t.strictSame(stub.openUploads(), []);
});
