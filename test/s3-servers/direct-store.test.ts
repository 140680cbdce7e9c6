/** Direct uploads on a server that is not ours, with real requests to presigned addresses. */
import t from 'tap';
import { createS3Store } from '#objects/s3/s3-store.ts';
import { directStoreContract } from '../integration/direct-store-contract.ts';
import { silentLog } from '../services/silent-log.ts';
import { testedPlace } from '../services/tested-s3.ts';

t.test('contract', async (t) => {
  const partBytes = 5 * 1024 ** 2;
  const log = silentLog();
  const deploymentId = 'c0ffee00-0000-4000-8000-000000000001';
  const store = createS3Store({ ...testedPlace(), partBytes, maxObjectBytes: 1024 ** 3, deploymentId, log });
  t.teardown(() => store.close());
  await directStoreContract(t, { store, partBytes, checksSignatures: true });
  t.strictSame(log.failures, []);
});
