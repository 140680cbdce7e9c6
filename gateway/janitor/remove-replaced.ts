import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { JanitorRun } from './janitor-run.ts';

interface RemoveReplacedDeps {
  readonly store: Pick<ObjectStore, 'delete'>;
  readonly cloudFiles: Pick<CloudFiles, 'replacedSince' | 'remove'>;
  readonly plans: Pick<PlanStore, 'closeFor'>;
  /** Age in milliseconds below which nothing is touched. */
  readonly grace: number;
}

const filesPerRun = 10_000;
/** Files replaced before were found by earlier runs. Milliseconds. */
const window = 48 * 3600 * 1000;

/**
 * Removes files of folders whose path has a newer file: a gateway ended before it removed what it replaced, or two
 * gateways without Redis stored both.
 */
export async function removeReplaced(
  { store, cloudFiles, plans, grace }: RemoveReplacedDeps,
  { signal, report, dryRun, attempt }: JanitorRun,
): Promise<void> {
  const now = Date.now();
  const files = await cloudFiles.replacedSince(new Date(now - window - grace), filesPerRun, signal);
  for (const file of files) {
    if (file.createdAt.getTime() > now - grace) continue;
    await attempt('remove a replaced file', async () => {
      if (!dryRun) {
        await plans.closeFor([file], signal);
        await store.delete(file.objectKey, signal);
        await cloudFiles.remove(file.name, signal);
      }
      report.replacedRemoved++;
    });
  }
}
