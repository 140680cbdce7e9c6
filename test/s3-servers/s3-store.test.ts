/** The S3 store on a server that is not ours. CI gives it Ceph, and Versity. */
import t from 'tap';
import { objectStoreContract } from '../integration/object-store-contract.ts';
import { s3StoreCases } from '../integration/s3-store-cases.ts';
import { silentLog } from '../services/silent-log.ts';
import { openTestedStore } from '../services/tested-s3.ts';

t.test('contract', async (t) => {
  await objectStoreContract(t, async () => openTestedStore());
});

t.test('cases', async (t) => {
  const log = silentLog();
  const store = openTestedStore({ log });
  t.teardown(() => store.close());
  await s3StoreCases(t, store);
  t.strictSame(log.failures, []);
});
