import t from 'tap';
import { uploadSuite } from '../acceptance/upload-suite.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { openTestedStore, testedS3 } from '../services/tested-s3.ts';

t.test('uploads and downloads on a real S3 server', async (t) => {
  const store = openTestedStore();
  t.teardown(() => store.close());
  const { signal } = new AbortController();
  await uploadSuite(t, {
    sluice: await sluiceFor(t, { env: testedS3 }),
    folder: await temporaryFolder(t),
    async leftovers(name) {
      const keys: string[] = [];
      for await (const { key } of store.list('', signal)) keys.push(key);
      for await (const { key } of store.listOpenUploads(signal)) keys.push(key);
      return keys.filter((key) => key.includes(name));
    },
  });
});
