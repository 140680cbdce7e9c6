import { ownLocks } from '#coordination/redis/process-lock.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { noDigests } from '#gateway/digest/file-digests.ts';
import { Janitor, type JanitorOptions } from '#gateway/janitor/janitor.ts';
import { noPlans } from './direct-uploads.ts';
import { testDeployment } from './new-file.ts';
import { noTrash } from './no-trash.ts';
import { noUses } from './no-uses.ts';
import { noResumableUploads } from './resumable-uploads.ts';
import { silentLog } from './silent-log.ts';

/** A janitor to which nothing is too young, beside no uploads, over stores that a test brings. */
export function testJanitor(
  options: Partial<JanitorOptions> & Pick<JanitorOptions, 'store' | 'cloudFiles'>,
): Janitor {
  return new Janitor({
    deployment: { id: testDeployment },
    uploads: { openKeys: [] },
    resumable: noResumableUploads,
    plans: noPlans,
    direct: options.store.direct ?? null,
    digests: noDigests,
    quota: noQuota,
    trash: noTrash,
    used: noUses,
    trashDays: 0,
    log: silentLog(),
    lock: ownLocks()('janitor'),
    staleAfter: 0,
    grace: 0,
    interval: 1e6,
    quarantineFor: 1e9,
    ...options,
  });
}
